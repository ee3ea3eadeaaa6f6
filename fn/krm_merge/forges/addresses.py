"""Addresses of git repositories."""

from __future__ import annotations

import re
from functools import lru_cache

from krm_merge.forges.interface import ForgeError

_SCHEME = re.compile(r"^(?:[a-z+]+://)?(?:[^@/]+@)?", re.IGNORECASE)
_SCP = re.compile(r"^[^/@:]+@([^/:]+):(?!\d+/)")
_NAME = re.compile(r"[\w.-]+", re.ASCII)
_ALIASES = ("ssh.", "altssh.", "www.")
"""Prefixes of the hosts on which GitHub and GitLab offer ssh on the port of https."""


@lru_cache(maxsize=4096)
def same_repository(url: str) -> str:
    """A form of a git URL that is equal for all spellings of a repository: https, ssh, file, with and without .git."""
    text = _SCP.sub(r"\1/", url.strip())
    text = text.removeprefix("file://")
    text = text if text.startswith("/") else _SCHEME.sub("", text)
    text = text.rstrip("/").removesuffix(".git").rstrip("/")
    host, slash, path = text.partition("/")
    return f"{host.lower()}{slash}{path}" if host else text


def host_of(url: str) -> str:
    """The host in the address of a repository, without port and without what is only for ssh; '' for a path."""
    place = same_repository(url).rpartition("@")[2].partition("/")[0].partition(":")[0]
    return next((place.removeprefix(alias) for alias in _ALIASES if place.startswith(alias)), place)


def path_on(host: str, url: str, *, nested: bool = False) -> str:
    """The path of a repository of this host: `owner/name`, where groups are `nested` of any depth.

    Raises ForgeError for another one's: we would write to a stranger's, who would learn the token.
    """
    address = same_repository(url).rpartition("@")[2]
    path = address.partition("/")[2]
    parts = path.split("/")
    is_path = len(parts) >= 2 if nested else len(parts) == 2
    if host_of(url) != host or not is_path or not all(_NAME.fullmatch(part) and part.strip(".") for part in parts):
        raise ForgeError(
            f"{address} is no repository of {host}; correct its address to be like https://{host}/OWNER/NAME"
        )
    return path
