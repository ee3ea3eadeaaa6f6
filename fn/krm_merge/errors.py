"""The base of all errors about input: each says what is wrong with it, and what to do about it."""

from __future__ import annotations


class KrmMergeError(Exception):
    """Input that cannot be used: the message names it and the remedy. Nothing was changed."""
