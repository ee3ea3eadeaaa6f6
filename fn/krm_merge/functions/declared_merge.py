"""A merge that a pipeline declares is made once: a condition in the Kptfile's status records it (rule K7).

Only `kpt fn render` says in which file of which package the functionConfig is.
"""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import normpath

from krm_merge.functions.merge_sides import PackageSides, fields_of
from krm_merge.functions.places import place_of_item
from krm_merge.krm import KPTFILE, LEGACY_PATH, PACKAGE_PATH, PATH, Resource, ResourceList
from krm_merge.packages import (
    CONDITION,
    Lock,
    config_digest,
    config_path_in,
    follow_version,
    merge_records,
    upstream_in,
)
from krm_merge.startup import frozen, replace
from krm_merge.text import (
    NO_COMMENTS,
    MappingNode,
    Node,
    Object,
    SequenceNode,
    field_at,
    from_value,
    is_null,
    same,
    text_of,
    to_value,
)

_MUTATORS = ("pipeline", "mutators")


@frozen
class PipelineMerge:
    """The merge that a package declares.

    `file` holds the functionConfig, `name` is its name, and `digest` is of its fields. `package` is kpt's path of the
    package.
    """

    package: str
    file: str
    name: str
    digest: str

    def is_made(self, kptfile: Resource) -> bool:
        """Whether the status of a Kptfile says that this merge was made."""
        return any(record.digest == self.digest for record in merge_records(kptfile.value))

    def record(self, kptfile: Resource, changed: int, conflicts: int) -> str:
        """Writes into the status that the merge was made; returns why it cannot, or ''.

        `changed` resources differ now; `conflicts` took a side that nobody chose.
        """
        kptfile.settle(kptfile.data())
        before = kptfile.value
        status = before.get("status") or {}
        conditions = status.get("conditions") or [] if isinstance(status, dict) else None
        if not isinstance(status, dict) or not isinstance(conditions, list):
            return "status.conditions is not a list of conditions"
        condition_type, problem = self._type(kptfile)
        if problem:
            return problem
        noun = "conflict" if conflicts == 1 else "conflicts"
        condition: Object = {
            "type": condition_type,
            "status": "False" if conflicts else "True",
            "reason": "Conflicts" if conflicts else "Merged",
            "message": f"{self.file}: {self.digest}; {changed} changed, {conflicts} {noun}",
        }
        types = [other.get("type") if isinstance(other, dict) else None for other in conditions]
        if condition_type in types:
            conditions = [condition if types[at] == condition_type else other for at, other in enumerate(conditions)]
        else:
            conditions = [*conditions, condition]
        after = {**before, "status": {**status, "conditions": conditions}}
        kptfile.change(before, after, lambda path: ("type",) if path == ("status", "conditions") else ())
        kptfile.settle(kptfile.data())
        return ""

    def _type(self, kptfile: Resource) -> tuple[str, str]:
        """The type of the condition, with the functionConfig's name if the package declares several merges.

        And why there is none, or ''.
        """
        files = {record.type: record.file for record in merge_records(kptfile.value)}
        declared = {path for node in _functions(kptfile.root) if (path := config_path_in(node))}
        own = [condition_type for condition_type, file in files.items() if file == self.file]
        possible = [*own, CONDITION, *([f"{CONDITION}.{self.name}"] if self.name else [])]
        for condition_type in possible:
            if condition_type in own or files.get(condition_type) not in declared:
                return condition_type, ""
        other = files[possible[-1]]
        return "", f"{other} and {self.file} need different names: give each a metadata.name of its own"


def read_declaration(resource_list: ResourceList) -> PipelineMerge | None:
    """The declared merge that a list is for; None where it is not from a pipeline, or has no file of its own."""
    config = resource_list.function_config
    if config is None or PACKAGE_PATH not in (annotations := Resource.from_tree(config).annotations):
        return None
    file = annotations.get(PATH) or annotations.get(LEGACY_PATH)
    if not file:
        return None
    fields = to_value(fields_of(config)[0])
    assert isinstance(fields, dict)
    name = Resource.from_tree(config).name
    return PipelineMerge(annotations[PACKAGE_PATH], normpath(file), name, config_digest(fields))


def is_made(declaration: PipelineMerge, resource_list: ResourceList) -> bool:
    """Whether there is nothing to do; reports that, and that no record can be kept of the merge."""
    kptfile = own_kptfile(resource_list, declaration.package)
    if kptfile is None:
        resource_list.results.error(
            f"{KPTFILE}: not among the items, so every render would undo later edits; add "
            f"`kind: {KPTFILE}` to the selectors of the function",
            file=KPTFILE,
        )
        return True
    if not declaration.is_made(kptfile):
        return False
    resource_list.results.info(
        f"{KPTFILE}: {declaration.file} was already merged, as the condition {CONDITION} says; nothing to do",
        file=KPTFILE,
        rule="K7",
    )
    return True


def record_merge(declaration: PipelineMerge, resource_list: ResourceList, changed: int, conflicts: int) -> None:
    """Writes the record of a merge that was made; reports why that cannot be done."""
    kptfile = own_kptfile(resource_list, declaration.package)
    problem = "the merge removed it" if kptfile is None else declaration.record(kptfile, changed, conflicts)
    if problem:
        resource_list.results.error(f"{KPTFILE}: no record of the merge: {problem}", file=KPTFILE, rule="K7")


def own_kptfile(resource_list: ResourceList, package: str | None) -> Resource | None:
    """The item that is the Kptfile of the package with this path."""
    for item in resource_list.items:
        is_kptfile = KPTFILE.encode() in item.slice.data and item.kind == KPTFILE
        if is_kptfile and (place_of_item(item, package)[0] or KPTFILE) == KPTFILE:
            return item
    return None


def keep_declaration(declaration: PipelineMerge, sides: PackageSides) -> None:
    """Gives original and upstream the declaration of the merge: it is of neither side, so that nothing removes it."""
    local = next((member.root for member in sides.local.kptfile_members if member.place == KPTFILE), None)
    functions = _functions(local)
    for at, function in enumerate(functions):
        if config_path_in(function) != declaration.file:
            continue
        for side in (sides.original, sides.upstream):
            side.kptfile_members = [
                replace(member, root=_with_function(member.root, function, functions[:at]))
                if member.place == KPTFILE
                else member
                for member in side.kptfile_members
            ]


def _with_function(kptfile: MappingNode, function: Node, before: Sequence[Node]) -> MappingNode:
    """A Kptfile with one more function, behind the nearest of those before it."""
    path, value = config_path_in(function), to_value(function)
    if any(config_path_in(other) == path for other in _functions(kptfile)):
        return kptfile
    # As a document of its own: it may be part of the functionConfig's text.
    resource = Resource.from_document(text_of(kptfile))
    functions, mutators = _functions(resource.root), field_at(resource.root, *_MUTATORS)
    if isinstance(mutators, SequenceNode):
        nearest = (
            other for earlier in reversed(before) for other in functions if same(to_value(other), to_value(earlier))
        )
        resource.editor.insert(mutators, from_value(value), next(nearest, None), NO_COMMENTS)
    elif mutators is None or is_null(mutators):
        try:
            resource.set(".".join(_MUTATORS), [value])
        except KeyError:
            return kptfile
    return resource.merged()


def follow_upstream(kptfile: Resource, lock: Lock) -> str:
    """Writes which version of its upstream a Kptfile has now, as `krm-merge update` does; returns why not, or ''."""
    kptfile.settle(kptfile.data())
    upstream = upstream_in(kptfile.root)
    if upstream is None or (upstream.repository, upstream.directory) != (lock.repository, lock.directory):
        return "has another upstream than the functionConfig; upstream and upstreamLock are not changed"
    follow_version(kptfile, lock.ref, lock)
    kptfile.settle(kptfile.data())
    return ""


def _functions(kptfile: MappingNode | None) -> list[Node]:
    mutators = field_at(kptfile, *_MUTATORS)
    return list(mutators.items) if isinstance(mutators, SequenceNode) else []
