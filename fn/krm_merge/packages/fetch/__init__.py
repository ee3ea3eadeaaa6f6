"""Versions of packages from git repositories."""
