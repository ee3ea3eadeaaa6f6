"""Packages on disk: read as trees, written as a whole or not at all."""
