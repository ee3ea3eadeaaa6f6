"""The token of a forge as credentials of git."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

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
