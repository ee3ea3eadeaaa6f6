"""The built-in plugin: removes the fields of a resource that belong to its old cluster."""
