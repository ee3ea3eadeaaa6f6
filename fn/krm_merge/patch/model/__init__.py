"""Shared by all patches: plain values, the shapes of types, errors."""
