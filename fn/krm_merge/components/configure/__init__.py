"""What Konflux resources must say to obey the graph."""
