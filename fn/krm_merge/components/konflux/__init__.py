"""What Konflux has: Components, builds, pull requests and the rest of what is read, and how it is read."""
