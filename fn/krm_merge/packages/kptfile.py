"""The upstream of a package (rule K2), versions among tags, and the functionConfig that a pipeline declares.

As tags of packages often are, versions may be shorter than semantic ones: `v1.2` and `v1`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from posixpath import normpath
from typing import Any, Final, NamedTuple

from krm_merge.krm import KPTFILE, Resource
from krm_merge.merge import VersionOrder, version_order
from krm_merge.packages.files.tree import Changes, File, PackageError, Tree, is_kptfile
from krm_merge.schema import FUNCTION_LISTS
from krm_merge.startup import frozen
from krm_merge.text import (
    BOM,
    BOM_BYTES,
    NO_COMMENTS,
    MappingNode,
    Node,
    Object,
    Scalar,
    SequenceNode,
    TextError,
    Value,
    field_at,
    from_value,
    is_null,
    key_text,
    mapping_in,
    read,
    to_value,
)

# The first is the default, as in kpt.
STRATEGIES = ("resource-merge", "fast-forward", "force-delete-replace", "copy-merge")


@frozen
class Upstream:
    """`upstream` of a Kptfile: what the package follows."""

    repository: str
    directory: str
    ref: str
    strategy: str


@frozen
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
        self._root = _read_root(data, file)
        self._bom = BOM if data.startswith(BOM_BYTES) else ""

    @property
    def upstream(self) -> Upstream | None:
        """The package's upstream in git, None where it has none."""
        return upstream_in(self._root)

    @property
    def lock(self) -> Lock | None:
        """The commit that the package was last fetched from, None where it never was."""
        git = field_at(self._root, "upstreamLock", "git")
        if not isinstance(git, MappingNode):
            return None
        return Lock(*(_text(git, field) for field in ("repo", "directory", "ref", "commit")))

    def following(self, ref: str, lock: Lock, strategy: str | None) -> bytes:
        """The text with another version of upstream (K2); `strategy` None leaves that as it is. Raises PackageError."""
        resource = Resource.from_tree(self._root)
        try:
            follow_version(resource, ref, lock, strategy)
            return (self._bom + resource.text()).encode()
        except (KeyError, TextError) as error:
            raise PackageError(f"{self.file}: {error}") from None

    def without_render_status(self) -> bytes:
        """The text without the record of `kpt fn render`, which is of the content before."""
        resource = Resource.from_tree(self._root)
        _drop_from_status(resource, ["Rendered"], "renderStatus")
        return (self._bom + resource.text()).encode()


def follow_version(kptfile: Resource, ref: str, lock: Lock, strategy: str | None = None) -> None:
    """Writes into a Kptfile that it follows another version of its upstream (K2). Raises KeyError where it cannot."""
    locked = lock_value(lock)
    kptfile.set("upstream.git.ref", ref)
    if strategy is not None:
        kptfile.set("upstream.updateStrategy", strategy)
    # Field by field where it is there: comments beside the fields stay.
    if not isinstance(field_at(kptfile.root, "upstreamLock", "git"), MappingNode):
        kptfile.set("upstreamLock", locked)
    else:
        for name, value in locked["git"].items():
            kptfile.set(f"upstreamLock.git.{name}", value)


def lock_value(lock: Lock) -> dict[str, Any]:
    """As `upstreamLock` has it."""
    fields = {"repo": lock.repository, "directory": lock.directory, "ref": lock.ref, "commit": lock.commit}
    return {"type": "git", "git": fields}


def _read_root(data: bytes, file: str) -> MappingNode:
    try:
        root = read(data.decode("utf-8"))
    except (UnicodeDecodeError, TextError) as error:
        raise PackageError(f"{file}: {error}; nothing was changed") from None
    if not isinstance(root, MappingNode) or _text(root, "kind") != KPTFILE:
        raise PackageError(f"{file} is no Kptfile: set its kind to {KPTFILE}, and its apiVersion to kpt.dev/v1")
    return root


def upstream_in(kptfile: MappingNode) -> Upstream | None:
    """The upstream in git that a Kptfile names, None where it names none."""
    repository, directory, ref = (_text(kptfile, "upstream", "git", field) for field in ("repo", "directory", "ref"))
    strategy = _text(kptfile, "upstream", "updateStrategy") or STRATEGIES[0]
    return Upstream(repository, directory, ref, strategy) if repository else None


def upstream_of(kptfile: bytes) -> Upstream | None:
    """A subpackage's upstream in git, None where it has none or its Kptfile cannot be read."""
    try:
        return KptfileText(kptfile, KPTFILE).upstream
    except PackageError:
        return None


def addresses_in(package: Tree) -> dict[str, str]:
    """The addresses of repositories that the Kptfiles of a package name, each with the first Kptfile that does."""
    addresses: dict[str, str] = {}
    for path in package:
        if is_kptfile(path):
            with suppress(PackageError):
                kptfile = KptfileText(package[path].data, path)
                for source in (kptfile.upstream, kptfile.lock):
                    if source is not None and source.repository:
                        addresses.setdefault(source.repository, path)
    return addresses


def _text(root: MappingNode, *path: str) -> str:
    node = field_at(root, *path)
    # kpt reads every scalar as text, and null as a field that is left out.
    return key_text(node) if isinstance(node, Scalar) and not is_null(node) else ""


_LONGEST_NAME: Final = 200
"""Characters in front of a version; what a server lists may be of any length."""


def newer_versions(ref: str, directory: str, tags: Iterable[str]) -> list[str]:
    """The tags with a higher semantic version of what a ref is a version of, the highest last.

    `NAME/v1.2.3` and `NAME-v1.2.3` are versions of NAME. Where the repository has a tag `directory/ref`, its tags are
    meant, written as the ref is. Versions before a release are left out unless the ref is one. A ref that is no version
    has none. Source: semver.org, 2.0.0.
    """
    names = set(tags)
    folder = f"{directory.strip('/')}/"
    prefix = folder if folder + ref in names else ""
    here = _Release.of(prefix + ref)
    if here is None:
        return []
    newer: dict[VersionOrder, str] = {}
    # Where a version has tags of both forms, the one that is written as the ref is.
    for tag in sorted(names, key=lambda tag: (tag.startswith(prefix + ref[: here.start - len(prefix)]), tag)):
        release = _Release.of(tag)
        if release is None or release.name != here.name or not tag.startswith(prefix):
            continue
        if release.order > here.order and (release.order[1] or not here.order[1]):
            newer[release.order] = tag.removeprefix(prefix)
    return [newer[order] for order in sorted(newer)]


def is_version(ref: str) -> bool:
    """Whether a ref is a semantic version, of a package or of the whole repository."""
    return _Release.of(ref) is not None


class _Release(NamedTuple):
    """What a tag is a version of ('' for the repository), where in the tag the version starts, and its order."""

    name: str
    start: int
    order: VersionOrder

    @classmethod
    def of(cls, tag: str) -> _Release | None:
        begin = tag.rfind("/") + 1
        while True:
            if (order := version_order(tag[begin:])) is not None:
                return cls(tag[: max(begin - 1, 0)], begin, order)
            begin = tag.find("-", begin) + 1
            if not begin or begin > _LONGEST_NAME:
                return None


CONFIG_FILE = "merge-package.yaml"
_KIND = "MergePackage"
CONDITION = "krm-merge.MergePackage"
"""The type of the condition that says that a declared merge was made (K7)."""

_DIGEST = "sha256:"


@frozen
class MergeRecord:
    """A condition in a Kptfile's status that records a declared merge.

    `file` holds the functionConfig, and `digest` is of its fields; both are empty where somebody wrote the message.
    """

    type: str
    file: str
    digest: str
    counts: str


def merge_records(kptfile: Value) -> list[MergeRecord]:
    """The records in the value of a Kptfile (K7)."""
    status = kptfile.get("status") if isinstance(kptfile, dict) else None
    conditions = status.get("conditions") if isinstance(status, dict) else None
    records = []
    for condition in conditions if isinstance(conditions, list) else ():
        kind = str(condition.get("type")) if isinstance(condition, dict) else ""
        if isinstance(condition, dict) and f"{kind}.".startswith(f"{CONDITION}."):
            file, mark, rest = str(condition.get("message")).rpartition(f": {_DIGEST}")
            digest, _, counts = rest.partition("; ")
            records.append(MergeRecord(kind, file, _DIGEST + digest if mark else "", counts))
    return records


@frozen
class DeclaredMerge:
    """A merge that the package's pipeline declares in `file`; `record` is None until it was made."""

    file: str
    record: MergeRecord | None


def config_digest(config: Object) -> str:
    """The digest of a functionConfig: of all fields that say what is merged, and how."""
    fields = {name: value for name, value in config.items() if name not in ("apiVersion", "kind", "metadata")}
    return f"{_DIGEST}{sha256(json.dumps(fields, sort_keys=True, default=str).encode()).hexdigest()}"


def declared_merges(package: Tree) -> list[DeclaredMerge]:
    """The merges that the pipeline of a package declares, made or not (K7)."""
    kptfile = mapping_in(package[KPTFILE].data)
    records = merge_records(None if kptfile is None else to_value(kptfile))
    functions = field_at(kptfile, "pipeline", "mutators")
    merges = []
    for path in map(config_path_in, functions.items if isinstance(functions, SequenceNode) else ()):
        config = mapping_in(package[path].data) if path in package and _KIND.encode() in package[path].data else None
        value = None if config is None else to_value(config)
        if isinstance(value, dict) and value.get("kind") == _KIND:
            digest = config_digest(value)
            merges.append(DeclaredMerge(path, next((r for r in records if r.digest == digest), None)))
    return merges


def add_function(
    package: Tree, config: bytes, program: Mapping[str, str], path: str = CONFIG_FILE, *, comes_last: bool = False
) -> Changes:
    """The changes that run a function at every render: its functionConfig as a file, and its place in the pipeline.

    `program` is its image or exec. It comes first unless it `comes_last`. Raises PackageError where the Kptfile cannot
    be read.
    """
    kptfile = _kptfile(package[KPTFILE])
    # Declared a second time, it would run twice.
    if _drop_function(kptfile, path):
        kptfile = _kptfile(_kptfile_of(kptfile, package))
    function: dict[str, Value] = {**program, "configPath": path}
    mutators = field_at(kptfile.root, "pipeline", "mutators")
    try:
        if isinstance(mutators, SequenceNode):
            # By default the merge comes before all functions that change its result.
            last = mutators.items[-1] if comes_last and mutators.items else None
            kptfile.editor.insert(mutators, from_value(function), last, NO_COMMENTS)
        elif mutators is None or is_null(mutators):
            kptfile.set("pipeline.mutators", [function])
        else:
            raise KeyError("pipeline.mutators is not a list")
    except KeyError as error:
        raise PackageError(f"{KPTFILE}: {error.args[0]}; nothing was changed") from None
    return {path: File(config), KPTFILE: _kptfile_of(kptfile, package)}


def remove_function(package: Tree, path: str = CONFIG_FILE) -> Changes:
    """The changes that take it out again with the record of its merge, whatever runs it; none where it is not declared.

    A list or map that is empty then goes, too, unless somebody wrote a comment there. Raises PackageError.
    """
    changes: dict[str, File | None] = {path: None} if path in package else {}
    kptfile = _kptfile(package[KPTFILE])
    fields = _drop_function(kptfile, path)
    types = {record.type for record in merge_records(kptfile.value) if record.file == path}
    _drop_from_status(kptfile, types)
    if fields or types:
        changes[KPTFILE] = _kptfile_of(kptfile, package)
    for field in fields:
        file = changes[KPTFILE]
        assert file is not None
        shorter = _kptfile(file)
        pipeline, functions = field_at(shorter.root, "pipeline"), field_at(shorter.root, "pipeline", field)
        if isinstance(pipeline, MappingNode) and isinstance(functions, SequenceNode) and not functions.items:
            shorter.remove(f"pipeline.{field}" if len(pipeline.entries) > 1 else "pipeline")
            # A comment of the list is somebody's.
            if shorter.text().count("#") == kptfile.text().count("#"):
                changes[KPTFILE] = _kptfile_of(shorter, package)
    return changes


def _drop_from_status(kptfile: Resource, types: Collection[str], *fields: str) -> None:
    """Takes the conditions of these types and these fields out of the status; what is empty then goes, too."""
    before = kptfile.value
    status = before.get("status")
    if not isinstance(status, dict):
        return
    conditions = status.get("conditions")
    rest = {name: value for name, value in status.items() if name not in fields}
    if isinstance(conditions, list):
        rest["conditions"] = [c for c in conditions if not isinstance(c, dict) or c.get("type") not in types]
        if conditions and not rest["conditions"]:
            del rest["conditions"]
    after = before | {"status": rest} if rest or not status else {k: v for k, v in before.items() if k != "status"}
    kptfile.change(before, after, lambda path: ("type",) if path == ("status", "conditions") else ())


def _drop_function(kptfile: Resource, path: str) -> list[str]:
    """Takes the functions with this functionConfig out of a pipeline; the lists that had one."""
    fields = []
    for _, field in FUNCTION_LISTS:
        functions = field_at(kptfile.root, "pipeline", field)
        if not isinstance(functions, SequenceNode):
            continue
        for node in functions.items:
            if config_path_in(node) == path:
                kptfile.editor.remove(functions, node)
                fields.append(field)
    return list(dict.fromkeys(fields))


def config_path_in(function: Node) -> str:
    """The file that configures a function of a pipeline, '' where none does."""
    config = field_at(function, "configPath")
    return normpath(key_text(config)) if isinstance(config, Scalar) and not is_null(config) else ""


def _kptfile(file: File) -> Resource:
    return Resource.from_tree(_read_root(file.data, KPTFILE))


def _kptfile_of(kptfile: Resource, package: Tree) -> File:
    return File(kptfile.text().encode(), package[KPTFILE].mode)
