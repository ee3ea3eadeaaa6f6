"""Components that are built from one another: read as Konflux has them, planned, and brought to one state on git."""
