"""Merges the files of three packages."""
