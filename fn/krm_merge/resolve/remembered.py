"""Choices that were made in merges of git, in the repository's own folder: the next merge finds them there.

As git's rerere, but by what the conflict is about, whatever lines are around it and whichever file it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from krm_merge.functions.policy.merge_policy import policy_in
from krm_merge.git.program import GitError
from krm_merge.git.working_tree import WorkingTree
from krm_merge.merge.decisions.resolution import NO_RESOLUTIONS, Resolutions, is_of_place
from krm_merge.packages.files.directory import read_file
from krm_merge.packages.files.tree import File
from krm_merge.packages.files.write import write_file
from krm_merge.posix import is_own
from krm_merge.resolve.choices import Made
from krm_merge.startup import replace

_FILE: Final = "krm-merge/choices.yaml"


def remembered_at(place: Path) -> Path | None:
    """Where the repository around a folder remembers choices; None where there is no repository.

    Nothing is remembered in a file of another user, who could decide for this one (A1).
    """
    try:
        found = WorkingTree.around(place)
    except GitError:
        return None
    if found is None:
        return None
    file = found.common / _FILE
    return file if not file.exists() or is_own(file) else None


def remembered(file: Path | None) -> Resolutions:
    """What is remembered. Raises KrmMergeError where it cannot be read."""
    if file is None or not file.is_file():
        return NO_RESOLUTIONS
    return policy_in([(str(file), read_file(file).data)]).resolutions


def remember(file: Path, made: Sequence[Made]) -> None:
    """Adds choices, for any resource with the same conflict; those on hidden values hold for their place alone."""
    if not made:
        return
    # The merge driver, which git starts for each file, remembers nothing.
    from krm_merge.resolve.policy_text import with_choices

    anywhere = [
        one if is_of_place(one.resolution.fingerprint) else Made(replace(one.resolution, identity=None)) for one in made
    ]
    known = read_file(file) if file.is_file() else None
    file.parent.mkdir(parents=True, exist_ok=True)
    new = with_choices(known, str(file), list({one.key: one for one in anywhere}.values()), ())
    write_file(file, File(new.data), known)
