"""Runs plugins: inline patches, Python entry points, programs within limits."""
