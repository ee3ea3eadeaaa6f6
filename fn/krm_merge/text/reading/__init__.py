"""Reads YAML into nodes that know where they are in the text."""
