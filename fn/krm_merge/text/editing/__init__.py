"""Edits YAML text so that only what changed is rewritten."""
