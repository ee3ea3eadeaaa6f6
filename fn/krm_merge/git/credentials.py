"""Credentials of git: the token of a forge, and those that somebody wrote into an address."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

_TOKEN: Final = "KRM_MERGE_FORGE_TOKEN"
_HELPER: Final = f'!f() {{ test "$1" = get && printf "username=x-access-token\\npassword=%s\\n" "${_TOKEN}"; }}; f'


@dataclass(frozen=True, slots=True)
class Credentials:
    """Options that make git ask us for credentials, after the helpers that the user has configured.

    The token is in the environment: other users of the machine can see arguments.
    """

    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


NO_CREDENTIALS: Final = Credentials()


def credentials_for(url: str, token: str) -> Credentials:
    """The credentials for the host of a repository, over https alone; none if the address has its own."""
    address = urlsplit(url)
    if not token or address.scheme != "https" or address.username:
        return NO_CREDENTIALS
    return Credentials(("-c", f"credential.https://{address.netloc}.helper={_HELPER}"), {_TOKEN: token})


def take_credentials(url: str) -> str:
    """The address without credentials. Git uses them for its host from now on, in all processes that this one starts.

    They are in the environment, so that no file, argument or message has them. The first of a host count.
    """
    try:
        address = urlsplit(url)
    except ValueError:
        return url
    login, has_login, host = address.netloc.rpartition("@")
    if not has_login or address.scheme not in ("https", "http"):
        return url
    name = "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in host)
    variable = f"KRM_MERGE_LOGIN_{name.upper()}"
    if variable not in os.environ:
        user, _, password = map(unquote, login.partition(":"))
        fields = {"username": user, "password": password}
        os.environ[variable] = "".join(
            f"{name}={text.splitlines()[0]}\n" for name, text in fields.items() if text.strip()
        )
        count = int(os.environ.get("GIT_CONFIG_COUNT") or "0")
        os.environ |= {
            "GIT_CONFIG_COUNT": str(count + 1),
            f"GIT_CONFIG_KEY_{count}": f"credential.{address.scheme}://{host}.helper",
            f"GIT_CONFIG_VALUE_{count}": f'!f() {{ test "$1" = get && printf %s "${variable}"; }}; f',
        }
    return urlunsplit(address._replace(netloc=host))
