"""Addresses of git repositories."""

from __future__ import annotations

import re

_SCHEME = re.compile(r"^(?:[a-z+]+://)?(?:[^@/]+@)?", re.IGNORECASE)
_SCP = re.compile(r"^[^/@:]+@([^/:]+):(?!\d+/)")


def same_repository(url: str) -> str:
    """A form of a git URL that is equal for all spellings of a repository: https, ssh, file, with and without .git."""
    text = _SCP.sub(r"\1/", url.strip())
    text = text.removeprefix("file://")
    text = text if text.startswith("/") else _SCHEME.sub("", text)
    text = text.rstrip("/").removesuffix(".git").rstrip("/")
    host, slash, path = text.partition("/")
    return f"{host.lower()}{slash}{path}" if host else text
