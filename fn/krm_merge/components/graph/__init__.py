"""The dependency graph of components: groups, circles, what is incomplete."""
