"""Packages as files: read, merged, written, and fetched with git.

`directory`, `write`, `journal` and `git` touch the disk and start programs; the others are pure.
"""
