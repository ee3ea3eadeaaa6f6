"""Signed copies of a campaign's commits. The edge to git.

A signature may have the time in it, so that signed commits have another id each time. The commits of a campaign are
therefore signed when they are pushed, and what was pushed is compared without signatures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from krm_merge.fleet.merging.git_store import GitStore
from krm_merge.git import program as git_program
from krm_merge.git.objects import GitObjects
from krm_merge.git.program import GitError

_DIFFERS = re.compile(rb"^(?:parent .*|gpgsig(?:-sha256)? .*(?:\n .*)*)\n", re.MULTILINE)
_PERSON = re.compile(r"^committer (?P<name>[^<\n]*) <(?P<mail>[^>\n]*)> (?P<date>.*)$", re.MULTILINE)


def signed(store: GitStore, base: str, commit: str, settings: Sequence[str]) -> str:
    """The last of the signed copies of the commits that `commit` has and `base` has not. Raises GitError.

    `settings` are those of git that sign (`signing_settings`); without any it is the commit itself.
    """
    if not settings:
        return commit
    parent = base
    listed = git_program.output(["rev-list", "--reverse", f"{base}..{commit}"], store.place, alone=True)
    for name in listed.decode().split():
        head, message = _commit(store, name)
        tree = head.partition("\n")[0].removeprefix("tree ")
        command = [*settings, "commit-tree", "-S", tree, "-p", parent, "-F", "-"]
        made = git_program.output(command, store.place, message, _environment(head))
        parent = made.decode().strip()
    return parent


def is_signed_copy(store: GitStore, commit: str, of: str) -> bool:
    """Whether a commit has the files, the message, the author and the time of another one. Raises GitError."""
    return _without_signature(store, commit) == _without_signature(store, of)


def _without_signature(store: GitStore, name: str) -> tuple[bytes, bytes]:
    head, message = _commit(store, name)
    return _DIFFERS.sub(b"", head.encode(errors="surrogateescape") + b"\n"), message


def _commit(store: GitStore, name: str) -> tuple[str, bytes]:
    (found,) = GitObjects(store.place).read([f"{name}^{{commit}}"])
    if found is None:
        raise GitError(f"{store.address}: the commit {name} is missing")
    head, _, message = found.data.partition(b"\n\n")
    return head.decode(errors="surrogateescape"), message


def _environment(head: str) -> dict[str, str]:
    person = _PERSON.search(head)
    assert person is not None
    values = {"NAME": person["name"], "EMAIL": person["mail"], "DATE": person["date"]}
    return {f"GIT_{role}_{name}": value for role in ("AUTHOR", "COMMITTER") for name, value in values.items()}
