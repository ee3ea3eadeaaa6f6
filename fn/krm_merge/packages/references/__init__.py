"""References between the files and resources of a package, held intact by a merge (law I)."""
