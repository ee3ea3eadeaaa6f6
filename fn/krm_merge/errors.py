"""The base of the errors that say what is wrong with what was given, and what to do about it."""

from __future__ import annotations


class KrmMergeError(Exception):
    """Something that was given cannot be used; the message names it and the remedy. Nothing was changed."""
