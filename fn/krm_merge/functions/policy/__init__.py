"""`kind: MergePolicy` and files of rules: how conflicts of a package are settled."""
