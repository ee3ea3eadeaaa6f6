"""Tokens of forges: from the environment, or from git's credential helpers. No other module holds them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from krm_merge.git.program import GitError, run

_NO_QUESTIONS: Final = {"GIT_ASKPASS": "", "SSH_ASKPASS": ""}


@dataclass(frozen=True, slots=True)
class Token:
    """A secret, '' for none, and its `source`: the setting to correct, or the one to set."""

    secret: str = ""
    source: str = ""


def token_for(host: str, variable: str = "") -> Token:
    """The token of one host: from KRM_MERGE_TOKEN_HOST, from the `variable` of this host, or from git."""
    host_variable = variable_of(host)
    for name in filter(None, (host_variable, variable)):
        if secret := os.environ.get(name, "").strip():
            return Token(secret, name)
    if secret := _password(host):
        return Token(secret, "the password in git's credential helper")
    return Token("", variable or host_variable)


def variable_of(host: str) -> str:
    """The environment variable for the token of a host."""
    return f"KRM_MERGE_TOKEN_{re.sub('[^A-Za-z0-9]', '_', host).upper()}"


def _password(host: str) -> str:
    """The token of git's credential helpers for a host, '' for none. Never prompts."""
    request = f"protocol=https\nhost={host}\n\n".encode()
    try:
        done = run(
            ["-c", "credential.interactive=false", "credential", "fill"], data=request, environment=_NO_QUESTIONS
        )
    except GitError:
        return ""
    lines = done.stdout.decode(errors="replace").splitlines() if done.returncode == 0 else []
    return next((line.removeprefix("password=") for line in lines if line.startswith("password=")), "")
