"""The dependency graph of components: groups, circles, incomplete components."""
