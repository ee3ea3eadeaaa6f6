"""The commands of the program, one module each."""
