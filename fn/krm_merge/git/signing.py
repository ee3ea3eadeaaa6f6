"""The user's settings for signed commits."""

from __future__ import annotations

from krm_merge.git.program import GitError, run

_SETTINGS = r"^(commit\.gpgsign|user\.signingkey|gpg\..*)$"
_TRUE = frozenset(("true", "yes", "on", "1"))


def signing_settings(*, forced: bool = False) -> tuple[str, ...]:
    """The options of git that sign commits by the user's settings; none if commits are not signed.

    Commits are signed if `commit.gpgSign` is true, or if `forced`, with the key in `user.signingKey` and the program
    and format in `gpg.*`. Raises GitError.
    """
    listed = run(["config", "--null", "--includes", "--get-regexp", _SETTINGS])
    entries = (entry.partition("\n") for entry in listed.stdout.decode(errors="replace").split("\0") if entry)
    # A setting without a value is true.
    found = {name: value if line else "true" for name, line, value in entries}
    if not forced and found.pop("commit.gpgsign", "false").lower() not in _TRUE:
        return ()
    if forced and "user.signingkey" not in found:
        raise GitError("commits cannot be signed without a key; name one with: git config --global user.signingKey")
    return tuple(word for name, value in found.items() for word in ("-c", f"{name}={value}"))
