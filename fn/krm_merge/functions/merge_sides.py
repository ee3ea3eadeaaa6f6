"""The settings and the three sides of a merge, from the functionConfig and the items.

Importing pydantic takes longer than merging a Kptfile. So the plain form (two texts or lists, and the two choices) is
recognised without it; the models read everything else, and everything invalid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from posixpath import basename
from typing import TYPE_CHECKING

from krm_merge.functions import API_VERSION, CONFIG_MAP
from krm_merge.functions.places import default_place, place_of, root_package
from krm_merge.krm import (
    KPTFILE,
    KPTFILE_GROUP,
    PATH,
    Identity,
    Resource,
    ResourceError,
    ResourceList,
    flaw_of,
    identity_of,
)
from krm_merge.merge import Document, Folders, ListKeys, Member, Policy, ResourceOutcome, Rule
from krm_merge.startup import frozen, pattern, replace
from krm_merge.text import (
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    TextError,
    Value,
    check,
    field_at,
    is_empty,
    is_null,
    key_text,
    plain_lines,
    read,
    resolved,
    split_documents,
    to_value,
)

if TYPE_CHECKING:
    from krm_merge.packages import Lock

_PLAIN_FIELDS = frozenset(("apiVersion", "kind", "metadata", "original", "upstream", "onConflict", "functionIdentity"))
_LOCK = "upstreamLock"
_LOCK_FIELDS = ("repo", "directory", "ref", "commit")
_PLAIN_DATA = frozenset(("function", "original", "upstream", "onConflict", "functionIdentity"))
_PACKAGES = ("original", "upstream")
_CHOICES = {
    "onConflict": ("upstream", "local", "fail"),
    "functionIdentity": ("document", "smart"),
    "function": ("MergePackage",),
}


@frozen
class MergeSettings:
    """The parsed functionConfig. `original` and `upstream` are nodes of it, None if it lacks them.

    `is_policy_given` says that it names a policy for conflicts itself, `lock` where upstream is.
    """

    original: Node | None = None
    upstream: Node | None = None
    policy: Policy = Policy()
    list_keys: tuple[ListKeys, ...] = ()
    smart: bool = False
    is_policy_given: bool = False
    lock: Lock | None = None


def read_settings(resource_list: ResourceList) -> MergeSettings:
    """Reads the functionConfig and reports all its errors to the results; returns the valid part in any case."""
    config = resource_list.function_config
    if config is None:
        return MergeSettings()
    holder, is_config_map = fields_of(config)
    fields = {key_text(entry.key): resolved(entry.value) for entry in holder.fields.values()}
    lock = None if is_config_map else _lock_in(fields.get(_LOCK))
    rules, list_keys = tuple[Rule, ...](), tuple[ListKeys, ...]()
    if not _is_plain(fields, is_config_map):
        from krm_merge.functions.models import ConfigMapData, MergePackage
        from krm_merge.krm import validate
        from krm_merge.policy import list_keys_of, rules_of

        values: dict[str, Value] = {name: _shallow(name, node) for name, node in fields.items()}
        model = validate(resource_list, ConfigMapData if is_config_map else MergePackage, values)
        if model is None:
            usable = (n for n in _PACKAGES if n in fields and _is_package(fields[n], lists=not is_config_map))
            return replace(MergeSettings(), **{name: fields[name] for name in usable})
        if isinstance(model, MergePackage):
            rules, list_keys = rules_of(model.rules), list_keys_of(model.listKeys)
    choices = {name: key_text(fields[name]) if name in fields else texts[0] for name, texts in _CHOICES.items()}
    policy = Policy(choices["onConflict"], rules)  # type: ignore[arg-type]
    original, upstream = (None if is_null(node := fields.get(name)) else node for name in _PACKAGES)
    smart = choices["functionIdentity"] == "smart"
    return MergeSettings(original, upstream, policy, list_keys, smart, "onConflict" in fields, lock)


def fields_of(config: MappingNode) -> tuple[MappingNode, bool]:
    """The fields of a functionConfig, and whether they are the data of a ConfigMap."""
    if Resource.from_tree(config).kind != CONFIG_MAP:
        return config, False
    data = config.get("data")
    return (data if isinstance(data, MappingNode) else MappingNode.new(True)), True


def _is_plain(fields: Mapping[str, Node], is_config_map: bool) -> bool:
    """Whether a quick check finds the fields valid."""
    if not is_config_map and _lock_in(fields.get(_LOCK)) is not None:
        fields = {name: node for name, node in fields.items() if name != _LOCK}
    if not fields.keys() <= (_PLAIN_DATA if is_config_map else _PLAIN_FIELDS):
        return False
    if not is_config_map:
        for name, expected in (("apiVersion", API_VERSION), ("kind", "MergePackage")):
            if name not in fields or fields[name].canonical != expected:
                return False
        if not isinstance(fields.get("metadata"), MappingNode | None):
            return False
    return all(
        _is_package(node, lists=not is_config_map) if name in _PACKAGES else node.canonical in _CHOICES[name]
        for name, node in fields.items()
        if name in _PACKAGES or name in _CHOICES
    )


def _lock_in(node: Node | None) -> Lock | None:
    """Where upstream is, None where a field is missing or is no text."""
    if not isinstance(node, MappingNode):
        return None
    from krm_merge.packages import Lock

    git = node.get("git")
    fields = [child for name in _LOCK_FIELDS if isinstance(child := field_at(git, name), Scalar)]
    return Lock(*map(key_text, fields)) if len(fields) == len(_LOCK_FIELDS) else None


def _is_package(node: Node, *, lists: bool) -> bool:
    if isinstance(node, Scalar):
        return type(node.canonical) is str
    return (
        lists and isinstance(node, SequenceNode) and all(isinstance(resolved(item), MappingNode) for item in node.items)
    )


def _shallow(name: str, node: Node) -> Value:
    """The value of a field; of packages only the shape is checked."""
    if name in _PACKAGES and isinstance(node, SequenceNode):
        return [{} if isinstance(resolved(item), MappingNode) else to_value(item) for item in node.items]
    return to_value(node)


_MAY_BE_KPTFILE = pattern(rb"""kind["']?[ \t]*:[ \t]*["']?Kptfile\b""")
_API_VERSION = pattern(rb"^apiVersion: *[\w./-]+\r?$", re.MULTILINE)
_KIND = pattern(rb"^kind: *\w+\r?$", re.MULTILINE)

FORMS = (
    "give original and upstream as fields of a MergePackage functionConfig, or as data of a ConfigMap "
    '(kpt fn eval -- original="$(cat A)" upstream="$(cat B)")'
)


class ItemsOfSide:
    """One version of the package: its Kptfiles, and the `others`, read when they are needed.

    `is_whole` is False if only Kptfiles are merged.
    """

    def __init__(self) -> None:
        """Nothing read yet."""
        self.kptfile_members: list[Member] = []
        self.others: list[Document] = []
        self.is_whole = True

    def relocate(self, moves: Mapping[str, str]) -> None:
        """Puts what is in some files into others, by old paths (R13)."""
        if moves:
            self.kptfile_members = [_relocate_member(member, moves) for member in self.kptfile_members]
            self.others = [_relocated_document(document, moves) for document in self.others]

    def kptfiles(self) -> list[Member]:
        """The Kptfiles of packages."""
        return self.kptfile_members

    def unreadable_kptfiles(self) -> tuple[str, ...]:
        """None: unreadable items are refused."""
        return ()

    def resources(self, folders: Folders) -> list[Document]:
        """All other resources."""
        return self.others if self.is_whole else []


class PackageSides:
    """The three versions."""

    def __init__(self, root_package: str | None) -> None:
        """Nothing read yet."""
        self.original = ItemsOfSide()
        self.upstream = ItemsOfSide()
        self.local = ItemsOfSide()
        self.resources: dict[int, Resource] = {}
        self.root_package = root_package

    def __iter__(self) -> Iterator[ItemsOfSide]:
        """Original, upstream, local."""
        return iter((self.original, self.upstream, self.local))

    @property
    def has_whole_packages(self) -> bool:
        """Whether more than Kptfiles is given."""
        return bool(self.original.others or self.upstream.others)

    @property
    def has_files(self) -> bool:
        """Whether original and upstream are whole packages that say in which file each resource is."""
        whole_sides = self.original.others, self.upstream.others
        return (
            all(whole_sides)
            and self.local.is_whole
            and all(PATH.encode() in document.data for side in whole_sides for document in side)
        )

    @property
    def members(self) -> list[Member]:
        """All resources of all sides; reads them."""
        others = (document.member() for side in self for document in side.others)
        return [member for side in self for member in side.kptfile_members] + [m for m in others if m is not None]

    def remaining_places(self, resources: Iterable[ResourceOutcome]) -> Iterator[str]:
        """The places of the resources that local has after the merge."""
        gone = {id(outcome.local) for outcome in resources if outcome.fate == "deleted"}
        members = (document.member() for document in self.local.others)
        return (m.place for m in members if m is not None and id(m) not in gone)

    def resource(self, member: Member) -> Resource:
        """The item of a local member."""
        return self.resources[id(member.root)]


def read_sides(resource_list: ResourceList, settings: MergeSettings) -> PackageSides | None:
    """Reads the Kptfiles of all three sides.

    Reports every error to the results; with errors, including those of the settings, returns None.
    """
    return _Reader(resource_list).read(settings)


class _Reader:
    def __init__(self, resource_list: ResourceList) -> None:
        self._list = resource_list
        self._results = resource_list.results
        self._sides = PackageSides(root_package=root_package(resource_list))

    def read(self, settings: MergeSettings) -> PackageSides | None:
        sides = self._sides
        for name, side, node in (
            ("original", sides.original, settings.original),
            ("upstream", sides.upstream, settings.upstream),
        ):
            if node is not None:
                self._read_package(name, side, node)
            elif not any((r.path or "").endswith(name) for r in self._results.errors):
                self._results.error(f"functionConfig: {name} is missing; {FORMS}", path=name)
        self._read_local()
        if not self._results.errors:
            self._check()
        return None if self._results.errors else sides

    # ---- original and upstream as text or objects ----------------------------------------------------------------

    def _read_package(self, name: str, side: ItemsOfSide, node: Node) -> None:
        try:
            documents = _documents(node)
        except TextError as error:
            self._results.error(f"functionConfig: {name}: {error}", path=name)
            return
        for at, (data, column, reader) in enumerate(documents):
            document = Document("", data, partial(self._package_member, name, at, reader), column)
            if _MAY_BE_KPTFILE.search(data):
                member = document.member()
                if member is not None and member.is_kptfile:
                    side.kptfile_members.append(member)
                    continue
            elif not (_API_VERSION.search(data) and _KIND.search(data)):
                document.member()  # reports an item that is not an object
            side.others.append(document)
        if not documents:
            self._results.error(f"functionConfig: {name} is empty; the Kptfile is expected", path=name)

    def _package_member(self, name: str, at: int, read: Callable[[], Node | None]) -> Member | None:
        try:
            root = read()
        except TextError as error:
            self._results.error(f"functionConfig: {name}: document {at + 1}: {error}", path=name)
            return None
        if root is None:
            return None
        if flaw := _flaw(root):
            self._results.error(f"functionConfig: {name}: document {at + 1} {flaw}", path=name)
            return None
        assert isinstance(root, MappingNode)
        return self._member(root, place_of(Resource.from_tree(root).annotations, None))

    # ---- the items -----------------------------------------------------------------------------------------------

    def _read_local(self) -> None:
        sides = self._sides
        others: list[Resource] = []
        for item in self._list.items:
            # Untouched items are never parsed.
            if not _MAY_BE_KPTFILE.search(item.slice.data) or not self._is_local_kptfile(item):
                others.append(item)
            elif (member := self._local_member(item)) is not None:
                sides.local.kptfile_members.append(member)
        if sides.has_whole_packages:
            sides.local.others = [
                Document("", item.slice.data, partial(self._local_member, item), item.column) for item in others
            ]

    def _is_local_kptfile(self, item: Resource) -> bool:
        try:
            if item.kind != KPTFILE:
                return False
            place = place_of(item.annotations, self._sides.root_package) or KPTFILE
            return identity_of(item.root).group == KPTFILE_GROUP and basename(place) == KPTFILE
        except ResourceError as error:
            if error.file is None or basename(error.file) == KPTFILE:
                self._results.error(str(error), file=error.file)
            return False

    def _local_member(self, item: Resource) -> Member | None:
        try:
            place = place_of(item.annotations, self._sides.root_package)
        except ResourceError as error:
            self._results.error(str(error), file=error.file)
            return None
        if flaw := _flaw(item.root):
            self._results.error(f"{place or 'an item'}: {flaw}", file=place)
            return None
        self._sides.resources[id(item.root)] = item
        return self._member(item.root, place)

    @staticmethod
    def _member(root: MappingNode, place: str | None) -> Member:
        identity = identity_of(root)
        is_placed = place is not None
        if place is None:
            place = KPTFILE if _is_kptfile(identity) else default_place(identity)
        return Member(place, identity, root, place, Resource.from_tree(root).index, is_placed)

    # ---- all of it -----------------------------------------------------------------------------------------------

    def _check(self) -> None:
        sides, results = self._sides, self._results
        for name, side in zip(("original", "upstream", "local"), sides, strict=True):
            seen: set[str] = set()
            for member in side.kptfile_members:
                if member.place in seen:
                    what = "two root Kptfiles" if member.place == KPTFILE else "two Kptfiles"
                    where = "the items" if name == "local" else f"functionConfig: {name}"
                    results.error(f"{member.file}: {where} hold {what}; a package has only one", file=member.file)
                seen.add(member.place)
        for name, side in (("original", sides.original), ("upstream", sides.upstream)):
            if not side.kptfile_members and not (sides.original.others and sides.upstream.others):
                # If both hold other resources, they are whole packages: K4.
                kinds = [member.identity.kind for member in map(Document.member, side.others) if member is not None]
                has = ", ".join(kinds) or "nothing"
                results.error(f"functionConfig: {name} holds {has}; a Kptfile (kpt.dev/v1) is expected", path=name)
        whole_sides = [name for name in ("original", "upstream") if getattr(sides, name).others]
        if len(whole_sides) == 1:
            results.info(
                f"functionConfig: {whole_sides[0]} holds a whole package, the other side only Kptfiles; "
                "all other resources count as missing there"
            )
        if not sides.local.kptfile_members and (sides.original.kptfile_members or sides.upstream.kptfile_members):
            results.error(
                "Kptfile: no Kptfile (kpt.dev/v1) among the items; run on a package, as `kpt fn eval DIR` does",
                file=KPTFILE,
            )


def _documents(node: Node) -> list[tuple[bytes, int, Callable[[], Node | None]]]:
    """The text of each document of a package, its column, and its reader. Raises TextError if it is not YAML."""
    if isinstance(node, SequenceNode):
        return [(*_lines(item), partial(resolved, item)) for item in node.items]
    assert isinstance(node, Scalar)
    check(node.text)
    texts = [data for data in split_documents(plain_lines(node.text.encode())) if not is_empty(data)]
    return [(data, 0, partial(_read_document, data)) for data in texts]


def _read_document(data: bytes) -> Node | None:
    return read(data.decode())


def _lines(node: Node) -> tuple[bytes, int]:
    """The lines of an object in a list, and their column."""
    root = resolved(node)
    if not isinstance(root, MappingNode) or root.source is None:
        return b"", 0
    column = root.source.column(root.start)
    return (" " * column + root.source.text[root.start : root.end]).encode(), column


def _is_kptfile(identity: Identity) -> bool:
    """Whether a resource is a Kptfile, independent of its file name."""
    return identity.kind == KPTFILE and identity.group == KPTFILE_GROUP


def _relocate_member(member: Member, moves: Mapping[str, str]) -> Member:
    place = moves.get(member.place)
    return member if place is None else replace(member, place=place)


def _relocated_document(document: Document, moves: Mapping[str, str]) -> Document:
    def read() -> Member | None:
        member = document.member()
        return None if member is None else _relocate_member(member, moves)

    is_known = any(path.encode() in document.data for path in moves)
    return Document(document.file, document.data, read, document.column) if is_known else document


def _flaw(root: Node) -> str:
    """Why an object cannot be an item of the package, or ''."""
    if flaw := flaw_of(root):
        return flaw
    assert isinstance(root, MappingNode)
    place = place_of(Resource.from_tree(root).annotations, None) or ""
    return f"has the path {place}, which is outside the package" if place.startswith(("../", "/")) else ""
