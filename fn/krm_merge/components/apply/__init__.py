"""Applies plans: git and forges."""
