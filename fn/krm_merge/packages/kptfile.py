"""The upstream of a package, as its Kptfile says (rule K2), and its versions among the tags of a repository.

As tags of packages often are, versions may be shorter than semantic ones: `v1.2` and `v1`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from krm_merge.krm.identity import KPTFILE
from krm_merge.krm.resource import Resource
from krm_merge.packages.files.tree import PackageError
from krm_merge.text.reading.nodes import MappingNode, Scalar, TextError
from krm_merge.text.reading.reader import BOM, read
from krm_merge.text.reading.values import Value, key_text

STRATEGIES = ("resource-merge", "fast-forward", "force-delete-replace", "copy-merge")


@dataclass(frozen=True, slots=True)
class Upstream:
    """`upstream` of a Kptfile: what the package follows."""

    repository: str
    directory: str
    ref: str
    strategy: str


@dataclass(frozen=True, slots=True)
class Lock:
    """`upstreamLock.git` of a Kptfile: what it was last fetched from."""

    repository: str
    directory: str
    ref: str
    commit: str


class KptfileText:
    """A Kptfile as text: read for its upstream, edited to name another version of it."""

    def __init__(self, data: bytes, file: str) -> None:
        """Reads the text; `file` names it in errors. Raises PackageError."""
        self.file = file
        try:
            text = data.decode("utf-8")
            root = read(text)
        except (UnicodeDecodeError, TextError) as error:
            raise PackageError(f"{file}: {error}; nothing was changed") from None
        if not isinstance(root, MappingNode) or _text(root, "kind") != "Kptfile":
            raise PackageError(f"{file}: no Kptfile (kpt.dev/v1)")
        self._bom = BOM if text.startswith(BOM) else ""
        self._root = root

    @property
    def upstream(self) -> Upstream | None:
        """The package's upstream in git, None where it has none."""
        git = _mapping(_mapping(self._root, "upstream"), "git")
        if git is None or not _text(git, "repo"):
            return None
        strategy = _text(_mapping(self._root, "upstream"), "updateStrategy")
        return Upstream(_text(git, "repo"), _text(git, "directory"), _text(git, "ref"), strategy or STRATEGIES[0])

    @property
    def lock(self) -> Lock | None:
        """The commit that the package was last fetched from, None where it never was."""
        git = _mapping(_mapping(self._root, "upstreamLock"), "git")
        if git is None:
            return None
        return Lock(*(_text(git, field) for field in ("repo", "directory", "ref", "commit")))

    def following(self, ref: str, lock: Lock, strategy: str | None) -> bytes:
        """The text with another version of upstream (K2); `strategy` None leaves that as it is. Raises PackageError."""
        resource = Resource.from_tree(self._root)
        fields = {"repo": lock.repository, "directory": lock.directory, "ref": lock.ref, "commit": lock.commit}
        locked: dict[str, Value] = {"type": "git", "git": dict(fields)}
        try:
            resource.set("upstream.git.ref", ref)
            if strategy is not None:
                resource.set("upstream.updateStrategy", strategy)
            if _mapping(_mapping(self._root, "upstreamLock"), "git") is None:
                resource.set("upstreamLock", locked)
            else:
                for name, value in fields.items():
                    resource.set(f"upstreamLock.git.{name}", value)
            return (self._bom + resource.text()).encode()
        except (KeyError, TextError) as error:
            raise PackageError(f"{self.file}: {error}") from None


def upstream_of(kptfile: bytes) -> Upstream | None:
    """A subpackage's upstream in git, None where it has none or its Kptfile cannot be read."""
    try:
        return KptfileText(kptfile, KPTFILE).upstream
    except PackageError:
        return None


def _mapping(root: MappingNode | None, field: str) -> MappingNode | None:
    node = root.get(field) if root is not None else None
    return node if isinstance(node, MappingNode) else None


def _text(root: MappingNode | None, field: str) -> str:
    node = root.get(field) if root is not None else None
    return key_text(node) if isinstance(node, Scalar) and node.canonical != ("null",) else ""


_Order: TypeAlias = tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]


def newer_versions(ref: str, directory: str, tags: Iterable[str]) -> list[str]:
    """The tags with a higher semantic version than a ref, the highest last, written as the ref is.

    Tags of the package itself come before those of the whole repository, where it has such a tag of the ref. Versions
    before a release are left out unless the ref is one. A ref that is no version has none. Source: semver.org, 2.0.0.
    """
    names = set(tags)
    prefix, _, name = ref.rpartition("/")
    here = _order(name)
    if here is None:
        return []
    written = f"{prefix}/" if prefix else ""
    folder = f"{directory.strip('/')}/{ref}"
    place = folder.removesuffix(name) if folder in names else written
    newer = []
    for tag in names:
        order = _order(tag.removeprefix(place)) if tag.startswith(place) else None
        if order is not None and order > here and (order[1] or not here[1]):
            newer.append((order, written + tag.removeprefix(place)))
    return [tag for _, tag in sorted(newer)]


def newest_version(directory: str, tags: Iterable[str]) -> str:
    """The tag of a package with the highest version that is no version before a release; '' where none is."""
    names = set(tags)
    for lowest in (f"{directory.strip('/')}/0.0", "0.0"):
        if versions := newer_versions(lowest, "", names):
            return versions[-1]
    return ""


def is_version(ref: str) -> bool:
    """Whether a ref is a semantic version, of a package or of the whole repository."""
    return _order(ref.rpartition("/")[2]) is not None


def same_major(ref: str, versions: Iterable[str]) -> list[str]:
    """Those of the versions whose first number is the ref's."""
    return [version for version in versions if _major(version) == _major(ref)]


def _major(ref: str) -> int | None:
    order = _order(ref.rpartition("/")[2])
    return order[0][0] if order else None


def nearest(ref: str, names: Iterable[str]) -> str:
    """The tag or branch that is written most like a ref; '' where none is."""
    return next(iter(get_close_matches(ref, sorted(names), n=1)), "")


def _order(name: str) -> _Order | None:
    """What versions are compared by: their numbers, whether it is a release, and what comes before one."""
    release, _, before = name.removeprefix("v").partition("+")[0].partition("-")
    numbers = release.split(".")
    is_marked = len(numbers) > 1 or name.startswith("v")
    if not is_marked or len(numbers) > 3 or not all(number.isascii() and number.isdigit() for number in numbers):
        return None
    parts = before.split(".") if before else []
    marks = tuple((not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts)
    return (*map(int, numbers), 0, 0)[:3], not before, marks
