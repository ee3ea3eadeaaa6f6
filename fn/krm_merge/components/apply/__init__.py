"""Carries plans out on git and on forges."""
