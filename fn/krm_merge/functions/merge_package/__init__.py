"""`kind: MergePackage`: three-way merge of a package."""
