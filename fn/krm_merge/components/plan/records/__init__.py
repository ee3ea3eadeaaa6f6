"""Plans as resources: written, read back, summarised."""
