"""What people look up: the screen that lists commands and functions, and pages. Needs no extra."""
