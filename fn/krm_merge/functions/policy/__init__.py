"""`kind: MergePolicy` and files of rules: how a package wants its conflicts settled."""
