"""What the functions that a package declares wrote in local (rule R14), without running any function of others.

A function of kpt's catalog wrote a value where its configuration gives that for the key: a label, an annotation, the
namespace, a name with its prefix, an image, a setter's comment. Our own patches are applied in process. A function with
a condition, or with a field or selector that kpt may not have had, is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from posixpath import basename, dirname, join, normpath
from typing import TYPE_CHECKING, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.functions import CONFIG_MAP
from krm_merge.functions.edit_items import LOCAL_CONFIG, annotations_of
from krm_merge.krm import KPTFILE, Resource, ResourceList, value_at
from krm_merge.merge import (
    CommentReader,
    Document,
    Member,
    definitions_in,
    functions_at,
    image_repository,
    read_functions,
)
from krm_merge.schema import references_in
from krm_merge.text import (
    Child,
    MappingNode,
    Node,
    Object,
    SequenceNode,
    Value,
    from_value,
    read,
    resolved,
    same,
    to_value,
    value_of,
    written,
)

if TYPE_CHECKING:
    from krm_merge.functions.patch_resources import Patcher

ValuePath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """A resource as a function gets it: its value, and the tree that has its comments."""

    value: Object
    root: MappingNode

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.value.get("kind"))

    @property
    def name(self) -> str:
        """Its name, '' where it has none."""
        return str(value_at(self.value, ("metadata", "name")) or "")


@dataclass(frozen=True, slots=True)
class CatalogFunction:
    """A function of kpt's catalog, by its name, with its settings."""

    name: str
    settings: Object

    def written(self, subject: Subject, local: Member | None) -> Object:
        """The value of a resource with what it writes of local's; without local, with the name that it gives."""
        value = _written(subject.value, {"metadata": self.names(subject)}, partial(self.gives, subject))
        assert isinstance(value, dict)
        if local is not None:
            named = Subject(value, subject.root)
            value = _written(
                value, local.value, lambda path, *values: path not in _NAMES and self.gives(named, path, *values)
            )
            assert isinstance(value, dict)
        return value

    def gives(self, subject: Subject, path: ValuePath, before: Value, now: Value) -> bool:
        """Whether it writes the last value over the one before it, None for none, at a path of a resource."""
        if self.name in ("set-labels", "set-namespace") and annotations_of(subject.value).get(LOCAL_CONFIG) == "true":
            return False
        if self.name == "apply-setters":
            return before is not None and self._sets(subject, path, before, now)
        if self.name in ("set-labels", "set-annotations"):
            return self._texts.get(str(path[-1])) == now and self._is_place(path[:-1], before)
        if self.name == "set-namespace":
            return self._moves(subject, path, before, now)
        if not isinstance(before, str) or not isinstance(now, str):
            return False
        if self.name == "set-image":
            return (path[-1] == "image" or self._is_listed(path)) and now == self._image(before)
        return now == self._named(before) and self._is_name(subject, path, before)

    def names(self, subject: Subject) -> Object:
        """Name and namespace that it may give a resource."""
        if self.name == "set-namespace":
            return {"name": self._namespace, "namespace": self._namespace}
        if self.name == "ensure-name-substring":
            return {"name": self._named(subject.name)}
        if self.name == "apply-setters":
            places = (("metadata", field) for field in ("name", "namespace"))
            metadata = {str(place[1]): (value_at(subject.value, place), place) for place in places}
            return {
                name: self._substituted(_setter_at(subject.root, place), value)
                for name, (value, place) in metadata.items()
            }
        return {}

    @property
    def _texts(self) -> dict[str, str]:
        """The texts of its data, of which functions read every scalar as text."""
        inner = self.settings.get(self.name.removeprefix("set-"))
        fields = inner if isinstance(inner, dict) else self.settings
        return {k: str(v) for k, v in fields.items() if isinstance(v, str | int) and not isinstance(v, bool)}

    def _is_place(self, holder: ValuePath, before: Value) -> bool:
        """Whether labels or annotations are written there."""
        kind_of_map = self.name.removeprefix("set-")
        if holder[-2:] == ("metadata", kind_of_map) or (kind_of_map == "annotations" and self._is_listed(holder)):
            return True
        is_selector = holder in (("spec", "selector"), ("spec", "selector", "matchLabels"))
        # Other selectors change, but get no label that they do not have.
        return kind_of_map == "labels" and (is_selector or (holder[-1] == "matchLabels" and before is not None))

    def _is_listed(self, path: ValuePath) -> bool:
        """Whether the configuration adds a path: kustomize's field specs."""
        plain = "/".join(step for step in path if isinstance(step, str))
        specs = (
            spec for name, specs in self.settings.items() if name.endswith(("Fields", "Specs")) for spec in _maps(specs)
        )
        return any(str(spec.get("path")).replace("[]", "") == plain for spec in specs)

    # ---- set-namespace -------------------------------------------------------------------------------------------

    @property
    def _namespace(self) -> str | None:
        return self._texts.get("namespace") or self._texts.get("name")

    def _moves(self, subject: Subject, path: ValuePath, before: Value, now: Value) -> bool:
        matcher = self._texts.get("namespaceMatcher")
        if now != self._namespace or (matcher and (before or "default") != matcher):
            return False
        if path == ("metadata", "name"):
            return subject.kind == "Namespace"
        return path[-1] == "namespace" and (
            before is not None or (path == ("metadata", "namespace") and _may_have_namespace(subject.value))
        )

    # ---- ensure-name-substring -----------------------------------------------------------------------------------

    def _named(self, name: str) -> str:
        texts = self._texts
        mode = texts.get("editMode") or next((mode for mode in ("prepend", "append") if mode in texts), "")
        part = texts.get("substring") or texts.get(mode, "")
        return name if part in name else part + name if mode == "prepend" else name + part

    def _is_name(self, subject: Subject, path: ValuePath, before: str) -> bool:
        if path == ("metadata", "name"):
            return subject.kind not in _UNNAMED
        steps = [step for step in path if isinstance(step, str)]
        return self._is_listed(path) or any(
            reference.name == before
            and reference.kind not in _UNNAMED
            and [step for step in reference.path if isinstance(step, str)] == steps
            for reference in references_in(subject.value)
        )

    # ---- set-image -----------------------------------------------------------------------------------------------

    def _image(self, before: str) -> str:
        texts, old = self._texts, self._texts.get("name", "")
        if not old or image_repository(before) != old:
            return before
        tag, digest = texts.get("newTag"), texts.get("digest")
        suffix = f"@{digest}" if digest else f":{tag}" if tag else before[len(old) :]
        return (texts.get("newName") or old) + suffix

    # ---- apply-setters -------------------------------------------------------------------------------------------

    def _sets(self, subject: Subject, path: ValuePath, before: Value, now: Value) -> bool:
        text = _setter_at(subject.root, path)
        if isinstance(before, list):
            names = _SETTER.fullmatch(text)
            return names is not None and names[1] in self._texts and same(to_value(read(self._texts[names[1]])), now)
        new = self._substituted(text, before)
        # The type of a plain value comes from its text.
        return new is not None and (now == new or same(to_value(read(new)), now))

    def _substituted(self, text: str, value: Value) -> str | None:
        """The pattern with the setters' values; None where one of them is not given."""
        values, names = self._texts, _SETTER.findall(text)
        if value is None or not names or any(name not in values for name in names):
            return None
        return _SETTER.sub(lambda name: values[name[1]], text)


_CATALOG = ("apply-setters", "ensure-name-substring", "set-annotations", "set-image", "set-labels", "set-namespace")
_NAMES = (("metadata", "name"), ("metadata", "namespace"))
_UNNAMED = ("CustomResourceDefinition", "APIService", "Namespace", KPTFILE)
_SETTER = re.compile(r"\$\{([^${}]*)\}")
_SETTERS_OF_LINE = re.compile(r"# kpt-set: (.*)")
# fmt: off
_CLUSTER_WIDE = frozenset((
    "APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding",
    "CustomResourceDefinition", "IngressClass", "Kptfile", "MutatingWebhookConfiguration", "Namespace", "Node",
    "PersistentVolume", "PriorityClass", "RuntimeClass", "StorageClass", "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "VolumeAttachment",
))
# fmt: on


def _may_have_namespace(value: Object) -> bool:
    """Whether the resource is of a built-in kind with namespaces."""
    group = str(value.get("apiVersion", "")).rpartition("/")[0]
    return ("." not in group or group.endswith(".k8s.io")) and value.get("kind") not in _CLUSTER_WIDE


def _setter_at(root: MappingNode, path: Iterable[str | int]) -> str:
    """The pattern with setters in the comment of a value, '' where there is none."""
    node: Node = root
    holder, last = node, None
    for step in path:
        child: Child | None = None
        if isinstance(node, MappingNode):
            child = node.entry(str(step))
        elif isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.items):
            child = node.items[step]
        if child is None:
            return ""
        holder, last, node = node, child, resolved(value_of(child))
    line = None if last is None else CommentReader().of(holder, last).line
    setters = _SETTERS_OF_LINE.match(line or "")
    return setters[1].strip() if setters else ""


def _written(value: Value, now: Value, gives: Callable[[ValuePath, Value, Value], bool], path: ValuePath = ()) -> Value:
    """A value with what a function gives of another version of it."""
    if same(value, now):
        return value
    if isinstance(now, dict) and (value is None or isinstance(value, dict)):
        before: Object = value if isinstance(value, dict) else {}
        fields = {name: _written(before.get(name), field, gives, (*path, name)) for name, field in now.items()}
        merged = {**before, **{name: field for name, field in fields.items() if field is not None or name in before}}
        return merged if merged or value is not None else None
    if path and gives(path, value, now):
        return now
    if not isinstance(value, list) or not isinstance(now, list):
        return value
    names = {str(item["name"]): item for item in now if isinstance(item, dict) and "name" in item}
    items: list[Value] = []
    for at, item in enumerate(value):
        other: Value = names.get(str(item["name"])) if isinstance(item, dict) and "name" in item else None
        if other is None and len(value) == len(now):
            other = now[at]
        items.append(item if other is None else _written(item, other, gives, (*path, at)))
    return items


OwnEdit: TypeAlias = Callable[[Subject, str], Object]
"""The value that PatchResources makes of a resource in a file, empty where it removes it."""


@dataclass(frozen=True, slots=True)
class DeclaredFunction:
    """A function of a pipeline by its label, and the resources that it is for."""

    label: str
    function: CatalogFunction | OwnEdit
    selectors: Sequence[Object]
    exclude: Sequence[Object]

    def is_for(self, value: Object) -> bool:
        """Whether kpt gives it the resource with this value."""
        if self.selectors and not any(_selects(selector, value) for selector in self.selectors):
            return False
        return not any(_selects(selector, value) for selector in self.exclude)


def _selects(selector: Object, value: Object) -> bool:
    metadata = value.get("metadata")
    fields = {**value, **metadata} if isinstance(metadata, dict) else value
    for name, expected in selector.items():
        here = fields.get(name)
        if isinstance(expected, dict) and isinstance(here, dict):
            here = {key: text for key, text in here.items() if key in expected}
        if expected and here != expected:
            return False
    return True


class DeclaredPipeline:
    """The functions by the folders of the packages that declare them."""

    def __init__(self, functions: Mapping[str, Sequence[DeclaredFunction]]) -> None:
        """Takes the known functions of each package, in their order."""
        self._functions = functions

    def rendered(self, member: Member, local: Member | None) -> Object | None:
        """The value of a resource with what functions wrote in local; without local, with names and our own patches.

        Empty where a function removes it; None where none changes it, or one fails.
        """
        with suppress(KrmMergeError, ValueError):
            return next(reversed([value for _, value in self.steps(member, local)]), None)
        # The render reports it.
        return None

    def steps(self, member: Member, local: Member | None) -> Iterator[tuple[str, Object]]:
        """The value of a resource after each function that changes it, by the function's name; empty where it goes.

        Raises KrmMergeError and ValueError where a function fails.
        """
        subject = Subject(member.value, member.root)
        setters: Object = {}
        for declared in self._around(member.place):
            function = declared.function
            if not declared.is_for(subject.value):
                continue
            if isinstance(function, CatalogFunction):
                if function.name == "apply-setters":
                    # Several may write parts of one value.
                    setters |= function.settings
                    function = CatalogFunction(function.name, setters)
                value = function.written(subject, local)
            else:
                value = function(subject, member.place)
            if not same(subject.value, value):
                yield declared.label, value
                if not value:
                    return
                subject = Subject(value, member.root)

    def _around(self, place: str) -> Iterator[DeclaredFunction]:
        """The functions for a file; kpt renders a package before the one around it."""
        folder = dirname(place)
        while folder:
            yield from self._functions.get(folder, ())
            folder = dirname(folder)
        yield from self._functions.get("", ())


def declared_pipeline(kptfiles: Sequence[Member], documents: Sequence[Document]) -> DeclaredPipeline | None:
    """The functions that Kptfiles declare and that are known; None where there are none."""
    functions = {}
    for kptfile in kptfiles:
        folder = dirname(kptfile.place)
        known = list(_known_functions(kptfile.root, folder, documents))
        if known:
            functions[folder] = known
    return DeclaredPipeline(functions) if functions else None


_MUTATORS = ("pipeline", "mutators")
_FIELDS = frozenset(("image", "exec", "tag", "name", "configPath", "configMap", "selectors", "exclude"))
_SELECTORS = frozenset(("apiVersion", "kind", "namespace", "name", "labels", "annotations"))


def _known_functions(kptfile: MappingNode, folder: str, documents: Sequence[Document]) -> Iterator[DeclaredFunction]:
    for function in read_functions(functions_at(kptfile, _MUTATORS)):
        fields = to_value(function.node)
        if not isinstance(fields, dict) or not fields.keys() <= _FIELDS:
            continue
        selectors, exclude = (_maps(fields.get(field)) for field in ("selectors", "exclude"))
        if any(not selector.keys() <= _SELECTORS for selector in (*selectors, *exclude)):
            continue
        config = _config(fields, folder, documents)
        settings = config.get("data") if config.get("kind") == CONFIG_MAP else config
        name = image_repository(function.image).rpartition("/")[2]
        function_of: CatalogFunction | OwnEdit | None
        if name in _CATALOG and isinstance(settings, dict):
            function_of = CatalogFunction(name, settings)
        else:
            function_of = _own_edit(config, folder, documents)
        if function_of is not None:
            path = fields.get("configPath")
            program = name or function.exec
            label = function.name or (f"{program} ({path})" if path else program)
            yield DeclaredFunction(label, function_of, selectors, exclude)


def _maps(value: Value) -> list[Object]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _config(function: Object, folder: str, documents: Sequence[Document]) -> Object:
    """The functionConfig; empty where there is none, or none can be read."""
    if isinstance(data := function.get("configMap"), dict):
        return {"apiVersion": "v1", "kind": "ConfigMap", "data": data}
    path = function.get("configPath")
    members = _members_at(normpath(join(folder, path)), documents) if isinstance(path, str) else []
    return members[0].value if members else {}


def _members_at(path: str, documents: Iterable[Document]) -> list[Member]:
    # Few documents are read: those of the file or, where only annotations name files, that hold its name.
    name = basename(path).encode()
    candidates = (d for d in documents if d.file == path or (not d.file and name in d.data))
    members = (document.member() for document in candidates)
    return [member for member in members if member is not None and member.place == path]


def _own_edit(config: Object, folder: str, documents: Sequence[Document]) -> OwnEdit | None:
    """The edits of PatchResources in the package in a folder; None for other functions."""
    kind = value_at(config, ("data", "function")) if config.get("kind") == CONFIG_MAP else config.get("kind")
    if kind != "PatchResources":
        return None
    from krm_merge.functions.patch_resources import Patcher, read_jobs

    resource_list = ResourceList.with_config(written(from_value(config)))
    paths = (path for entry in _maps(config.get("patches")) if isinstance(path := entry.get("path"), str))
    sources = {
        place: [Resource.from_tree(member.root, normpath(path)) for member in _members_at(place, documents)]
        for path in paths
        for place in [normpath(join(folder, path))]
    }
    resource_list.items[:] = [item for items in sources.values() for item in items]
    jobs = read_jobs(resource_list)
    if resource_list.results.errors:
        return None
    return partial(_edit, Patcher(jobs, partial(definitions_in, documents)), frozenset(sources))


def _edit(patcher: Patcher, sources: Container[str], subject: Subject, place: str) -> Object:
    if subject.kind == KPTFILE or place in sources:
        # Patches are no resources of the package.
        return subject.value
    return patcher.patched(Resource.from_tree(subject.root, place), subject.value) or {}
