"""The merges of all targets: on engines, with failures tried again, and recorded as they end."""
