"""The values of Konflux resources that make Konflux follow the graph."""
