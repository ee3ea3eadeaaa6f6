"""The three sides of a package, from the functionConfig and the items."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from posixpath import basename, dirname, join, normpath, relpath

from krm_merge.functions.config import Settings
from krm_merge.krm.resource import INDEX, LEGACY_INDEX, LEGACY_PATH, PACKAGE_PATH, PATH, Resource, ResourceError
from krm_merge.krm.resource_list import ResourceList
from krm_merge.merge.member import KPTFILE, KPTFILE_GROUP, Member, flaw_of, subject_of
from krm_merge.merge.policy import Subject
from krm_merge.text.nodes import Mapping, Node, Scalar, Sequence, TextError, resolved
from krm_merge.text.values import key_text

MERGE_SOURCE = "config.kubernetes.io/merge-source"
_MAY_BE_KPTFILE = re.compile(rb"""kind["']?[ \t]*:[ \t]*["']?Kptfile\b""")
_TAGS = {"original": "original", "updated": "upstream", "dest": "local"}

FORMS = (
    "give original and upstream as fields of a MergePackage functionConfig, as data of a ConfigMap "
    '(kpt fn eval -- original="$(cat A)" upstream="$(cat B)"), '
    f"or as items with the annotation {MERGE_SOURCE}: original | updated | dest"
)


@dataclass(slots=True)
class Sides:
    """The members of each side: Kptfiles, and as `others` all else where whole packages are given.

    `folder` is where the local package stands among the items, when items of other packages stand beside it.
    """

    original: list[Member] = field(default_factory=list)
    upstream: list[Member] = field(default_factory=list)
    local: list[Member] = field(default_factory=list)
    resources: dict[int, Resource] = field(default_factory=dict)
    others: dict[str, list[Member]] = field(default_factory=lambda: {"original": [], "upstream": [], "local": []})
    folder: str = ""
    root_package: str | None = None

    @property
    def has_whole_packages(self) -> bool:
        """Whether more than Kptfiles is given."""
        return bool(self.others["original"] or self.others["upstream"])

    def resource(self, member: Member) -> Resource:
        """The item of a local member."""
        return self.resources[id(member.root)]


def read_sides(resource_list: ResourceList, settings: Settings) -> Sides | None:
    """Reads the Kptfiles of all three sides; tagged items are taken out of the list.

    Reports every error to the results and returns None where there are any, those of the settings included.
    """
    root = _root_package(resource_list)
    sides = Sides(root_package=root)
    tagged = _take_tagged(resource_list, sides, root)
    # So far these hold tagged items only.
    _from_own_folder(sides.original, sides.others["original"])
    _from_own_folder(sides.upstream, sides.others["upstream"])
    for name, node in (("original", settings.original), ("upstream", settings.upstream)):
        if node is not None:
            _read_package(resource_list, sides, name, node)
        elif name not in tagged and not any((r.path or "").endswith(name) for r in resource_list.results.errors):
            resource_list.results.error(f"functionConfig: {name} is missing; {FORMS}", path=name)
    _read_local(resource_list, sides, root)
    if "local" in tagged:
        sides.folder = _from_own_folder(sides.local, sides.others["local"])
    if not resource_list.results.errors:
        _check(resource_list, sides)
    return None if resource_list.results.errors else sides


def default_place(subject: Subject) -> str:
    """The file that kpt gives a resource without one (R2)."""
    name = subject.name.replace("/", "_").replace(":", "_")
    file = f"{subject.kind.lower()}_{name}.yaml" if name else f"{subject.kind.lower()}.yaml"
    return f"{subject.namespace}/{file}" if subject.namespace else file


def has_tagged_items(resource_list: ResourceList) -> bool:
    """Whether some items say which side they come from."""
    return any(MERGE_SOURCE.encode() in item.slice.data for item in resource_list.items)


# ---- where things stand ------------------------------------------------------------------------------------------


def _root_package(resource_list: ResourceList) -> str | None:
    """The package-path of the root: the functionConfig's, else the shortest of the items, else None."""
    config = resource_list.function_config
    if config is not None and (path := _annotations(config).get(PACKAGE_PATH)):
        return path
    needle = PACKAGE_PATH.encode()
    paths = []
    for item in resource_list.items:
        if needle in item.slice.data:
            try:
                paths.append(item.annotations.get(PACKAGE_PATH, ""))
            except ResourceError:
                continue  # told where it matters: when the item has to be read
    return min((path for path in paths if path), key=lambda path: (len(path), path), default=None)


def place_of(annotations: dict[str, str], root: str | None) -> str | None:
    """The file of an item from the root of the package, or None where the host did not say."""
    path = annotations.get(PATH) or annotations.get(LEGACY_PATH)
    if not path:
        return None
    package = annotations.get(PACKAGE_PATH)
    return normpath(join(relpath(package, root), path) if package and root else path)


def _from_own_folder(kptfiles: list[Member], others: list[Member]) -> str:
    """Places a side of tagged items from the folder of its outermost Kptfile, which is returned."""
    folders = [dirname(member.file) for member in kptfiles]
    outermost = min(folders, key=lambda folder: (folder.count("/") + bool(folder), folder), default="")
    for at, (member, folder) in enumerate(zip(kptfiles, folders, strict=True)):
        kptfiles[at] = replace(member, place=normpath(join(relpath(folder or ".", outermost or "."), KPTFILE)))
    for at, member in enumerate(others):
        if outermost and member.file.startswith(f"{outermost}/"):
            others[at] = replace(member, place=relpath(member.file, outermost))
    return outermost


def _annotations(root: Mapping) -> dict[str, str]:
    metadata = root.get("metadata")
    node = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if not isinstance(node, Mapping):
        return {}
    return {key_text(entry.key): key_text(resolved(entry.value)) for entry in node.fields.values()}


# ---- reading -----------------------------------------------------------------------------------------------------


def _take_tagged(resource_list: ResourceList, sides: Sides, root: str | None) -> set[str]:
    """Takes the items of other sides out of the list, and the tag off those of ours."""
    found: set[str] = set()
    kept = []
    for item in resource_list.items:
        if MERGE_SOURCE.encode() not in item.slice.data:
            kept.append(item)
            continue
        try:
            tag = item.annotations.get(MERGE_SOURCE)
            side = _TAGS.get(tag or "")
            if tag is not None and side is None:
                problem = f"the annotation {MERGE_SOURCE} is {tag}; original, updated or dest is expected"
                resource_list.results.error(f"{item.file or item.kind}: {problem}", resource=item.ref, file=item.file)
            if side is None or side == "local":
                kept.append(item)
                if side == "local":
                    found.add(side)
                    item.remove(f'metadata.annotations["{MERGE_SOURCE}"]')
                continue
        except ResourceError as error:
            resource_list.results.error(str(error), file=error.file)
            kept.append(item)
            continue
        found.add(side)
        _add(sides, side, item.root, place_of(item.annotations, root), in_any_file=True)
    resource_list.items[:] = kept
    return found


def _add(sides: Sides, side: str, root: Mapping, place: str | None, *, in_any_file: bool = False) -> None:
    """Adds a resource to its side: the Kptfiles of packages (in files of that name) apart from all others."""
    subject = subject_of(root)
    kptfiles = {"original": sides.original, "upstream": sides.upstream, "local": sides.local}[side]
    is_kptfile = subject.kind == KPTFILE and subject.group == KPTFILE_GROUP
    if is_kptfile and (in_any_file or basename(place or KPTFILE) == KPTFILE):
        kptfiles.append(Member(place or KPTFILE, subject, root, place or KPTFILE))
    elif side != "local" or sides.has_whole_packages:
        place = place or default_place(subject)
        sides.others[side].append(Member(place, subject, root, place))


def _flaw(root: Node) -> str:
    """What keeps an object from being an item of the package, or ''."""
    if flaw := flaw_of(root):
        return flaw
    assert isinstance(root, Mapping)
    place = place_of(_annotations(root), None) or ""
    return f"has the path {place}, which leads out of the package" if place.startswith(("../", "/")) else ""


def _read_package(resource_list: ResourceList, sides: Sides, name: str, node: Node) -> None:
    where = f"functionConfig: {name}"
    try:
        roots = _documents(node)
    except TextError as error:
        resource_list.results.error(f"{where}: {error}", path=name)
        return
    for at, root in enumerate(roots):
        if flaw := _flaw(root):
            resource_list.results.error(f"{where}: document {at + 1} {flaw}", path=name)
            continue
        assert isinstance(root, Mapping)
        _add(sides, name, root, place_of(_annotations(root), None))
    if not roots:
        resource_list.results.error(f"{where} is empty; the Kptfile is expected", path=name)


def _documents(node: Node) -> list[Node]:
    from krm_merge.text.reader import BOM, read_all

    if isinstance(node, Sequence):
        return [resolved(item) for item in node.items]
    assert isinstance(node, Scalar)
    return list(read_all(node.text.removeprefix(BOM)))


def _read_local(resource_list: ResourceList, sides: Sides, root: str | None) -> None:
    whole = sides.has_whole_packages
    for item in resource_list.items:
        # Untouched items are never parsed, whatever they hold: without whole packages only Kptfiles are touched.
        if not whole and not _MAY_BE_KPTFILE.search(item.slice.data):
            continue
        try:
            if not whole and item.kind != KPTFILE:
                continue
            place = place_of(item.annotations, root)
        except ResourceError as error:
            if whole or error.file is None or basename(error.file) == KPTFILE:
                resource_list.results.error(str(error), file=error.file)
            continue
        if flaw := _flaw(item.root):
            resource_list.results.error(f"{place or 'an item'}: {flaw}", file=place)
            continue
        _add(sides, "local", item.root, place, in_any_file=MERGE_SOURCE.encode() in item.slice.data)
        sides.resources[id(item.root)] = item


def _check(resource_list: ResourceList, sides: Sides) -> None:
    results = resource_list.results
    for name, members in (("original", sides.original), ("upstream", sides.upstream), ("local", sides.local)):
        seen: set[str] = set()
        for member in members:
            if member.place in seen:
                what = "two root Kptfiles" if member.place == KPTFILE else "two Kptfiles"
                side = "the items" if name == "local" else f"functionConfig: {name}"
                results.error(f"{member.file}: {side} hold {what}; each package has one", file=member.file)
            seen.add(member.place)
    for name, members in (("original", sides.original), ("upstream", sides.upstream)):
        if not members and not (sides.others["original"] and sides.others["upstream"]):
            # Where both hold other resources, whole packages are given: K4.
            has = ", ".join(member.subject.kind for member in sides.others[name]) or "nothing"
            results.error(f"functionConfig: {name} holds {has}; a Kptfile (kpt.dev/v1) is expected", path=name)
    given = [name for name in ("original", "upstream") if sides.others[name]]
    if len(given) == 1:
        results.info(
            f"functionConfig: {given[0]} holds a whole package, the other side only Kptfiles; "
            "all other resources count as missing there"
        )
    if not sides.local and (sides.original or sides.upstream):
        results.error(
            "Kptfile: no Kptfile (kpt.dev/v1) among the items; run on a package, as `kpt fn eval DIR` does",
            file=KPTFILE,
        )


def new_resource(member: Member, path: str, index: int) -> Resource:
    """A resource of upstream's text, as the document `index` of the file `path`."""
    from krm_merge.schema.model import is_bookkeeping
    from krm_merge.text.document import text_of

    resource = Resource.from_document(text_of(member.root))
    for name in resource.annotations:
        if is_bookkeeping(name):
            resource.remove(f'metadata.annotations["{name}"]')
    for name, value in ((PATH, path), (INDEX, str(index)), (LEGACY_PATH, path), (LEGACY_INDEX, str(index))):
        resource.set(f'metadata.annotations["{name}"]', value)
    return resource
