"""Finds the forge of a repository: by its address, and by the user's settings for hosts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from krm_merge.forges.interface import Forge, ForgeError, Pace, host_of
from krm_merge.forges.local import LocalForge
from krm_merge.git.program import Token, token_for, variable_of

Kind: TypeAlias = Literal["github", "gitlab", "forgejo"]
_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_PUBLIC: Final[Mapping[str, Kind]] = {"github.com": "github", "gitlab.com": "gitlab", "codeberg.org": "forgejo"}
_BEGINNINGS: Final[Mapping[str, Kind]] = {
    "github.": "github",
    "gitlab.": "gitlab",
    "forgejo.": "forgejo",
    "gitea.": "forgejo",
}
_VARIABLES: Final[Mapping[Kind, str]] = {
    "github": "GITHUB_TOKEN",
    "gitlab": "GITLAB_TOKEN",
    "forgejo": "FORGEJO_TOKEN",
}


@dataclass(frozen=True, slots=True)
class NamedHost:
    """A host that the user named: its kind, and its API if that does not follow from the host."""

    kind: Kind
    api: str = ""


@dataclass(frozen=True, slots=True)
class ForgeSettings:
    """The user's settings for forges: `hosts` by name, and the pace."""

    hosts: Mapping[str, NamedHost] = field(default_factory=dict)
    pace: Pace = field(default_factory=Pace)

    @classmethod
    def parse(cls, forges: tuple[str, ...], apis: tuple[str, ...], pace: Pace) -> ForgeSettings:
        """Parses texts like `HOST=gitlab`, and like `HOST=https://HOST/gitlab/api/v4`. Raises ForgeError."""
        hosts: dict[str, NamedHost] = {}
        for text in forges:
            host, equals, name = text.partition("=")
            kind = next((kind for kind in _KINDS if kind == name), None)
            if not equals or kind is None:
                raise ForgeError(f"--forge {text}: it must be HOST=KIND, and KIND one of {', '.join(_KINDS)}")
            hosts[host.lower()] = NamedHost(kind)
        for text in apis:
            host, equals, api = text.partition("=")
            if not equals or "/" in host:
                raise ForgeError(f"--api {text.partition('?')[0]}: it must be like HOST=https://HOST/api/v4")
            listed = hosts.get(host.lower())
            hosts[host.lower()] = NamedHost(listed.kind if listed else _kind_of(host.lower()), api)
        return cls(hosts, pace)

    def token_of(self, host: str) -> Token:
        """The token of a host, for its API and for git.

        The usual variable of a kind counts only if it is for this host: a token must reach only its host.
        """
        variable = ""
        for kind, usual in _VARIABLES.items():
            named = [name for name, settings in self.hosts.items() if settings.kind == kind]
            if (named or [name for name, public in _PUBLIC.items() if public == kind]) == [host]:
                variable = usual
        return token_for(host, variable)

    def share_tokens(self) -> None:
        """Gives git the tokens of the hosts that the user named: they are in the environment from now on."""
        for host in self.hosts:
            if secret := self.token_of(host).secret:
                os.environ.setdefault(variable_of(host), secret)


class Forges:
    """The forges of repositories, one client for each host, which shares its pace and its token."""

    def __init__(self, settings: ForgeSettings) -> None:
        """Sends no request yet."""
        self._settings = settings
        self._clients: dict[str, Forge] = {}

    def of(self, url: str) -> Forge:
        """The forge of a repository. Raises ForgeError if it is unknown."""
        host = "" if is_local(url) else host_of(url)
        if host and ":" not in url:
            raise ForgeError(f"{url}: there is no such repository here; correct the path, or name a URL")
        if host not in self._clients:
            self._clients[host] = self._client(host) if host else LocalForge()
        return self._clients[host]

    def _client(self, host: str) -> Forge:
        settings = self._settings.hosts.get(host) or NamedHost(_kind_of(host))
        try:
            from krm_merge.forges.hosted import forgejo, github, gitlab, transport
        except ImportError as error:
            missing = f"{host} needs the Python package {error.name}"
            raise ForgeError(f"{missing}; in a checkout, install it with: pip install '.[forges]'") from None
        clients: dict[Kind, Callable[[transport.Connection], Forge]] = {
            "github": github.GitHub,
            "gitlab": gitlab.GitLab,
            "forgejo": forgejo.Forgejo,
        }
        token = self._settings.token_of(host)
        return clients[settings.kind](transport.Connection(host, token, settings.api, pace=self._settings.pace))


def is_local(url: str) -> bool:
    """Whether it is a path; as in git, that includes existing files and addresses that begin with a dot."""
    return url.startswith(("/", "file://", ".")) or Path(url).exists() or Path(f"{url}.git").exists()


def _kind_of(host: str) -> Kind:
    """The kind of a host by its name. Raises ForgeError if the name does not show it."""
    if public := "github" if host.endswith(".ghe.com") else _PUBLIC.get(host):
        return public
    if by_name := next((kind for beginning, kind in _BEGINNINGS.items() if host.startswith(beginning)), None):
        return by_name
    kinds = ", ".join(_KINDS)
    raise ForgeError(f"{host}: its name does not show which forge it runs; add --forge {host}=KIND, one of {kinds}")
