"""Digests of images in files: where they are referenced, and how they are replaced."""
