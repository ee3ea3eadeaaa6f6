"""Runs plugins: inline patches, and programs within limits."""
