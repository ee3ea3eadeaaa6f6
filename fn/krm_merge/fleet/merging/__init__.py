"""The merge of one target: what a worker is handed, does, and hands back."""
