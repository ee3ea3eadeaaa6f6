"""The merge of a target that is a repository: a shallow copy is fetched, merged and committed to. The edge to git.

Nothing is checked out, and nothing of the repository runs: no hooks, no filters, no submodules.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from posixpath import dirname, join
from typing import Final

from krm_merge.fleet.campaign import Campaign, CampaignTarget
from krm_merge.fleet.discovery import follower
from krm_merge.fleet.job import Job, TargetOutcome
from krm_merge.fleet.merge import Merging, TargetPackage
from krm_merge.forges.choice import ForgeSettings
from krm_merge.forges.interface import Pace, host_of
from krm_merge.git import program as git_program
from krm_merge.git.program import NO_CREDENTIALS, Credentials, GitError, credentials_for
from krm_merge.git.store import GitObjects, TreeEntry, list_refs, push_branch
from krm_merge.packages import MODES, Changes, File, PackageError, Tree, belongs, is_kptfile

HEADS: Final = "refs/heads/"
TRAILER: Final = "Fleet-Campaign"
_RESULT = "refs/krm-merge/result"
_LATEST = ":1"
_MODES_IN_GIT: Final = {mode: name for name, mode in MODES.items()}


@dataclass(frozen=True, slots=True)
class NewCommit:
    """A commit to be made on top of the one before: its message, and what becomes of files."""

    message: str
    changes: Changes


class GitStore:
    """A copy of a repository in a directory of its own, with single commits unless it is not `is_shallow`."""

    def __init__(self, address: str, place: Path, *, is_shallow: bool = True) -> None:
        """Takes the address and the directory; nothing is done."""
        self.address = address
        self.place = place
        self._depth = ["--depth=1"] if is_shallow else []

    def fetch(self, ref: str) -> str:
        """Makes the copy with one commit of the repository, and gives its id. Raises GitError."""
        if self.address.startswith("-"):
            raise GitError(f"{self.address} is no address of a git repository")
        shutil.rmtree(self.place, ignore_errors=True)
        git_program.output(["init", "--quiet", "--bare", "--template=", str(self.place)])
        self.fetch_more(ref)
        return (self.place / "FETCH_HEAD").read_text(encoding="utf-8").split()[0]

    def fetch_more(self, name: str) -> None:
        """Fetches another commit, by its branch. Raises GitError."""
        fetch = ["fetch", "--progress", "--quiet", *self._depth, "--no-tags", "--no-recurse-submodules"]
        try:
            credentials = credentials_of(self.address)
            command = [*credentials.options, *fetch, "--end-of-options", self.address, name]
            git_program.output(command, self.place, environment=credentials.environment)
        except GitError as error:
            raise GitError(f"{self.address}: {error}") from None

    def files(self, commit: str) -> tuple[GitObjects, list[TreeEntry]]:
        """All files of a commit, and what reads their contents. Raises GitError."""
        objects = GitObjects(self.place)
        (root,) = objects.read([f"{commit}^{{tree}}"])
        if root is None:
            raise GitError(f"{self.address} has no files at {commit}")
        return objects, [entry for entry in objects.files(root) if entry.mode in MODES]

    def commit(self, base: str, commits: Sequence[NewCommit], author: str, date: str) -> str:
        """Makes commits on top of one, and gives the id of the last: equal ones have the same. Raises GitError."""
        stream: list[bytes] = []
        for number, new in enumerate(commits):
            message = new.message.encode()
            stream += [
                f"commit {_RESULT}\nmark {_LATEST}\ncommitter {author} {date}\ndata {len(message)}\n".encode(),
                message,
                b"\n" if number else f"\nfrom {base}\n".encode(),
            ]
            # What goes comes first: a folder may become a file.
            for path, file in sorted(new.changes.items(), key=lambda change: (change[1] is not None, change[0])):
                stream += _change_lines(path, file)
        stream.append(f"get-mark {_LATEST}\n".encode())
        answer = git_program.output(["fast-import", "--quiet", "--force"], self.place, b"".join(stream), alone=True)
        return answer.decode().strip()

    def was_made_by(self, commit: str, author: str) -> bool:
        """Whether a commit was made by a campaign, and nobody changed it since."""
        (commit_object,) = GitObjects(self.place).read([f"{commit}^{{commit}}"])
        if commit_object is None:
            return False
        head, _, message = commit_object.data.partition(b"\n\n")
        ours = f"committer {author} ".encode()
        return any(line.startswith(ours) for line in head.splitlines()) and f"\n{TRAILER}: ".encode() in message

    def push(self, commit: str, branch: str, seen: str) -> None:
        """Makes a branch this commit, if it still is the one that was seen, '' for none. Raises GitError."""
        self._push(commit, branch, seen, "pushed")

    def remove_branch(self, branch: str, seen: str) -> None:
        """Removes a branch, if it still is at the commit that was seen. Raises GitError."""
        if not self.place.is_dir():
            git_program.output(["init", "--quiet", "--bare", "--template=", str(self.place)])
        self._push("", branch, seen, "removed")

    def _push(self, commit: str, branch: str, seen: str, done: str) -> None:
        if why := push_branch(self.place, self.address, commit, branch, seen, credentials_of(self.address)):
            why = "somebody pushed to it meanwhile" if why == "stale info" else why
            raise GitError(f"{self.address}: {branch} cannot be {done}: {why}")

    def remove(self) -> None:
        """Removes the copy."""
        shutil.rmtree(self.place, ignore_errors=True)


def credentials_of(address: str) -> Credentials:
    """What git identifies itself with to the host of a repository, over https alone."""
    if not address.startswith("https://"):
        return NO_CREDENTIALS
    return credentials_for(address, _token(host_of(address)))


@cache
def _token(host: str) -> str:
    return ForgeSettings.parse((), (), Pace()).token_of(host).secret


def heads_of(address: str, *names: str) -> dict[str, str]:
    """The commits of branches (`refs/heads/NAME`) and of HEAD in a repository. Raises GitError."""
    return _refs_of(address, *names)[0]


def default_branch(address: str) -> str:
    """The branch that a repository calls its own. Raises GitError."""
    _, branch = _refs_of(address, "HEAD")
    if not branch:
        raise GitError(f"{address} has no branch of its own; name one in targets.yaml")
    return branch


def _refs_of(address: str, *names: str) -> tuple[dict[str, str], str]:
    try:
        return list_refs(address, names, credentials_of(address))
    except GitError as error:
        raise GitError(f"{address}: {error}") from None


def contents(objects: GitObjects, entries: Iterable[TreeEntry]) -> dict[str, File]:
    """Files with their contents, by path. Raises GitError."""
    files = list(entries)
    names = list(dict.fromkeys(entry.name for entry in files))
    blobs = {name: blob.data for name, blob in zip(names, objects.read(names), strict=True) if blob is not None}
    return {entry.path: File(blobs[entry.name], MODES[entry.mode]) for entry in files}


def _change_lines(path: str, file: File | None) -> list[bytes]:
    quoted = b'"' + os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
    if file is None:
        return [b"D ", quoted, b"\n"]
    return [
        f"M {_MODES_IN_GIT[file.mode]} inline ".encode(),
        quoted,
        f"\ndata {len(file.data)}\n".encode(),
        file.data,
        b"\n",
    ]


class RepositoryMerger:
    """Merges repositories."""

    def __init__(self, merging: Merging) -> None:
        """Takes how packages are merged."""
        self._merging = merging

    def merge(self, job: Job) -> TargetOutcome:
        """Merges the packages of a repository that follow the upstream, each in a commit of its own.

        The commits are in a copy in the campaign's cache until they are published. Raises KrmMergeError and GitError.
        """
        settings = self._merging.settings
        campaign = settings.campaign
        target = campaign.targets[job.target]
        store = GitStore(target.name, Path(settings.temporary, f"{target.id}-{os.getpid()}.git"))
        try:
            base = store.fetch(f"{HEADS}{target.branch}" if target.branch else "HEAD")
            objects, entries = store.files(base)
            packages = _packages(campaign, target, objects, entries)
            if not packages:
                at = f" and is at {campaign.from_}" if campaign.from_ else ""
                message = f"no package in it follows the upstream{at}"
                return TargetOutcome(target.name, "unchanged", message, seen=base, base=base)
            tree = _files_of(packages, objects, entries)
            merged = self._merging.merge(tree, target.name, packages)
            outcome = self._merging.outcome(target.name, merged, with_body=True)
            outcome = replace(outcome, base=base, seen="" if job.is_dry_run else base)
            if outcome.files == 0 or job.is_dry_run:
                return outcome
            commits = [_commit(campaign, target, package) for package in merged if package.changes]
            commit = store.commit(base, commits, campaign.publishing.author, settings.date)
            final_store = store_of(target, settings.cache)
            final_store.remove()
            final_store.place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(store.place, final_store.place)
            return replace(outcome, commit=commit)
        finally:
            store.remove()


def store_of(target: CampaignTarget, cache: str | Path) -> GitStore:
    """Where the commits for a repository are until they are published."""
    return GitStore(target.name, Path(cache, "repositories", f"{target.id}.git"))


def _packages(
    campaign: Campaign, target: CampaignTarget, objects: GitObjects, entries: Sequence[TreeEntry]
) -> tuple[str, ...]:
    """The directories of the packages that follow the upstream, those around others first. Raises PackageError."""
    kptfiles = contents(objects, (entry for entry in entries if is_kptfile(entry.path) and entry.is_file))
    if target.packages:
        for package in target.packages:
            if join(package, "Kptfile") not in kptfiles:
                raise PackageError(f"{target.name}: there is no package {package}; correct targets.yaml")
        return target.packages
    directories = []
    for path in sorted(kptfiles, key=lambda path: (path.count("/"), path)):
        candidate = follower(campaign.upstream, kptfiles[path].data, join(target.name, path))
        if candidate is not None and candidate.is_at(campaign.from_):
            directories.append(dirname(path))
    return tuple(directories)


def _files_of(packages: Sequence[str], objects: GitObjects, entries: Sequence[TreeEntry]) -> Tree:
    """The files of packages, by their paths in the repository."""
    folders = tuple(f"{package}/" if package else "" for package in packages)
    files_of_packages = [
        entry for entry in entries if entry.path.startswith(folders) and all(map(belongs, entry.path.split("/")))
    ]
    return contents(objects, files_of_packages)


def _commit(campaign: Campaign, target: CampaignTarget, merged: TargetPackage) -> NewCommit:
    name = merged.package or target.name.rstrip("/").rpartition("/")[2].removesuffix(".git")
    message = campaign.message.replace("{package}", name).replace("{ref}", campaign.upstream.ref)
    return NewCommit(f"{message}\n\n{TRAILER}: {campaign.name}\n", merged.changes)
