"""Konflux resources: Components, builds, pull requests and related resources, and how they are read."""
