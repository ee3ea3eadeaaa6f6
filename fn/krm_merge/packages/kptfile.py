"""The upstream of a package, as its Kptfile says (rule K2)."""

from __future__ import annotations

from dataclasses import dataclass

from krm_merge.krm.identity import KPTFILE
from krm_merge.krm.resource import Resource
from krm_merge.packages.files.directory import PackageError
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
