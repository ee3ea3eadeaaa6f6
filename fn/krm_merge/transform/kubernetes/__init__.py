"""The built-in plugin: removes from a resource what belongs to the cluster that it came from."""
