"""Decides on the resources of a package: which belong together, which are added, deleted, renamed, moved."""
