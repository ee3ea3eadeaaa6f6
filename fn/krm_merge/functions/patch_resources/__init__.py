"""`kind: PatchResources`: patches the resources of a package."""
