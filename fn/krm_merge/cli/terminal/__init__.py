"""What people see in a terminal: lines that fit it, how far a command is, and what to do next."""
