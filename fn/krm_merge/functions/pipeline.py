"""The edits of the functions that a package declares (rule R14): of our own kinds, and of kpt's catalog.

Nothing of the package runs: patches are applied in process, and a function with programs as plugins is not known.
Functions of the catalog do what they write, not what their documents say; where released versions differ, the fields of
all. Source: kptdev/krm-functions-catalog 76fe3817f, `functions/go`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from posixpath import basename, dirname, join, normpath
from typing import TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.functions import CONFIG_MAP
from krm_merge.functions.edit_items import (
    CHANGED,
    LOCAL_CONFIG,
    REMOVED,
    SAME,
    Definitions,
    ItemEditor,
    ItemFate,
    annotations_of,
)
from krm_merge.krm import KPTFILE, Resource, ResourceList, pattern_of, value_at
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
    Entry,
    MappingNode,
    Node,
    Object,
    Scalar,
    SequenceNode,
    Value,
    copied,
    from_value,
    read,
    resolved,
    to_value,
    written,
)

ResourceEdit: TypeAlias = Callable[[Resource], ItemFate]
"""Edits the text of a resource, and says what became of it."""

_DEPENDS_ON = "config.kubernetes.io/depends-on"


def catalog_edit(name: str, config: Object) -> ResourceEdit | None:
    """The edits that the function of this name makes, with this functionConfig; None where they are not known."""
    settings = config.get("data") if config.get("kind") == "ConfigMap" else config
    if name not in _FUNCTIONS or not isinstance(settings, dict):
        return None
    return _FUNCTIONS[name](settings)


def _texts(value: Value) -> dict[str, str]:
    """The texts of a map; functions read every scalar of their data as text."""
    fields = value.items() if isinstance(value, dict) else ()
    return {key: str(text) for key, text in fields if isinstance(text, str | int) and not isinstance(text, bool)}


def _of_value(change: Callable[[Object], None]) -> ResourceEdit:
    """The edit of a resource by a change of its value, which is the change's own."""

    def edit(item: Resource) -> ItemFate:
        before = to_value(item.root)
        after = copied(before)
        change(after)
        item.change(before, after)
        return CHANGED

    return edit


def _is_local_config(value: Object) -> bool:
    return annotations_of(value).get(LOCAL_CONFIG) not in (None, "", "false")


def _maps_at(value: Value, path: Iterable[str], *, create: bool = False) -> list[Object]:
    """The maps at a path, `*` for the elements of a list; with `create` a missing one is added, but no element."""
    maps = [value] if isinstance(value, dict) else []
    for name in path:
        if name.endswith("*"):
            lists = [parent.get(name[:-1]) for parent in maps]
            maps = [item for items in lists if isinstance(items, list) for item in items if isinstance(item, dict)]
            continue
        children = [parent.setdefault(name, {}) if create else parent.get(name) for parent in maps]
        maps = [child for child in children if isinstance(child, dict)]
    return maps


def _holders(value: Object, fields: Value) -> Iterator[tuple[Object, str]]:
    """The maps that hold the fields of a resource which a functionConfig adds, each with the name of the field.

    kustomize's field specs: group, version and kind, of which absent ones are any, path and create.
    """
    group, _, version = str(value.get("apiVersion", "")).rpartition("/")
    here = {"group": group, "version": version, "kind": value.get("kind")}
    for spec in fields if isinstance(fields, list) else ():
        if not isinstance(spec, dict) or any(spec.get(name) not in (None, "", text) for name, text in here.items()):
            continue
        *parents, field = str(spec.get("path", "")).replace("[]", "*").split("/")
        for holder in _maps_at(value, parents, create=bool(spec.get("create"))):
            yield holder, field


# fmt: off
_CLUSTER_WIDE = frozenset((
    "APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding",
    "CustomResourceDefinition", "IngressClass", "Kptfile", "MutatingWebhookConfiguration", "Namespace", "Node",
    "PersistentVolume", "PriorityClass", "RuntimeClass", "StorageClass", "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "VolumeAttachment",
))
# fmt: on


_NAMESPACES = {
    "APIService": ("spec", "service"),
    "CustomResourceDefinition": ("spec", "conversion", "webhook", "clientConfig", "service"),
    "ClusterRoleBinding": ("subjects*",),
    "RoleBinding": ("subjects*",),
}
"""Where kinds name namespaces besides their own; subjects only where they have one."""


def _set_namespace(settings: Object) -> ResourceEdit | None:
    names = _texts(settings)
    namespace = names.get("namespace") or names.get("name")
    matcher = names.get("namespaceMatcher")
    if not namespace:
        return None

    def replace(holder: Object, field: str = "namespace") -> None:
        if not matcher or holder.get(field, "default") == matcher:
            holder[field] = namespace

    def change(value: Object) -> None:
        if _is_local_config(value):
            return
        kind = str(value.get("kind"))
        for holder in _maps_at(value, _NAMESPACES[kind]) if kind in _NAMESPACES else ():
            if _NAMESPACES[kind] != ("subjects*",) or "namespace" in holder:
                replace(holder)
        for metadata in _maps_at(value, ("metadata",)):
            if kind == "Namespace":
                replace(metadata, "name")
            elif "namespace" in metadata or _has_namespace(value, kind):
                replace(metadata)
        for notes in _maps_at(value, ("metadata", "annotations")):
            if isinstance(reference := notes.get(_DEPENDS_ON), str):
                notes[_DEPENDS_ON] = _moved_reference(reference, namespace, matcher)

    return _of_value(change)


def _has_namespace(value: Object, kind: str) -> bool:
    """Whether the resource is of a built-in kind with namespaces."""
    group = str(value.get("apiVersion", "")).rpartition("/")[0]
    return ("." not in group or group.endswith(".k8s.io")) and kind not in _CLUSTER_WIDE


def _moved_reference(reference: str, namespace: str, matcher: str | None) -> str:
    """A reference of `depends-on` to a resource in another namespace: one, `group/namespaces/NAMESPACE/kind/name`."""
    parts = reference.split("/")
    if len(parts) != 5 or parts[1] != "namespaces" or "," in reference or (matcher and parts[2] != matcher):
        return reference
    return "/".join((*parts[:2], namespace, *parts[3:]))


_TEMPLATED = ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "ReplicationController", "Job")
_TEMPLATES: Mapping[str, Sequence[tuple[str, ...]]] = {
    **dict.fromkeys(_TEMPLATED, (("spec", "template"),)),
    "CronJob": (("spec", "jobTemplate"), ("spec", "jobTemplate", "spec", "template")),
}


def _metadata_in(value: Object) -> list[Object]:
    """The metadata of a resource and of the templates in a workload, written where it is missing."""
    templates = _TEMPLATES.get(str(value.get("kind")), ())
    holders = [value, *(holder for template in templates for holder in _maps_at(value, template))]
    return [metadata for holder in holders for metadata in _maps_at(holder, ("metadata",), create=True)]


def _update(value: Object, path: Sequence[str], fields: Mapping[str, str]) -> None:
    """Writes fields into the maps at a path, which are added where they are missing."""
    for holder in _maps_at(value, path, create=True):
        holder.update(fields)


_SELECTORS = {
    "Service": ("spec", "selector"),
    "ReplicationController": ("spec", "selector"),
    **dict.fromkeys(("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"), ("spec", "selector", "matchLabels")),
}
_SPREADING = ("topologySpreadConstraints*", "labelSelector", "matchLabels")
_OLD_SELECTORS = {
    **dict.fromkeys(("Job", "PodDisruptionBudget"), (("spec", "selector", "matchLabels"),)),
    "CronJob": (("spec", "jobTemplate", "spec", "selector", "matchLabels"),),
    "StatefulSet": (("spec", "volumeClaimTemplates*", "selector", "matchLabels"),),
    "NetworkPolicy": (
        ("spec", "podSelector", "matchLabels"),
        ("spec", "ingress*", "from*", "podSelector", "matchLabels"),
        ("spec", "egress*", "to*", "podSelector", "matchLabels"),
    ),
}
"""Where a label changes, and none is added."""


def _set_labels(settings: Object) -> ResourceEdit | None:
    labels = _texts(settings.get("labels")) or _texts(settings)

    def change(value: Object) -> None:
        if _is_local_config(value):
            return
        kind = str(value.get("kind"))
        for metadata in _metadata_in(value):
            _update(metadata, ("labels",), labels)
        if kind == "StatefulSet":
            for template in _maps_at(value, ("spec", "volumeClaimTemplates*")):
                _update(template, ("metadata", "labels"), labels)
        if kind in _SELECTORS and isinstance(value.get("spec"), dict):
            _update(value, _SELECTORS[kind], labels)
        selectors = [*_OLD_SELECTORS.get(kind, ())]
        if kind in _TEMPLATED:
            selectors.append(("spec", "template", "spec", *_SPREADING))
        for path in selectors:
            for holder in _maps_at(value, path):
                holder.update({name: label for name, label in labels.items() if name in holder})

    return _of_value(change) if labels else None


def _set_annotations(settings: Object) -> ResourceEdit | None:
    annotations = _texts(settings.get("annotations")) or _texts(settings)

    def change(value: Object) -> None:
        for metadata in _metadata_in(value):
            _update(metadata, ("annotations",), annotations)
        for holder, field in _holders(value, settings.get("additionalAnnotationFields", settings.get("fieldSpecs"))):
            _update(holder, (field,), annotations)

    return _of_value(change) if annotations else None


def _set_image(settings: Object) -> ResourceEdit | None:
    image = settings.get("image") if isinstance(settings.get("image"), dict) else settings
    names = _texts(image)
    old, tag, digest = names.get("name", ""), names.get("newTag"), names.get("digest")

    def new_image(text: str) -> str:
        if image_repository(text) != old:
            return text
        suffix = f"@{digest}" if digest else f":{tag}" if tag else text[len(old) :]
        return (names.get("newName") or old) + suffix

    def change(value: Object) -> None:
        specs = _maps_at(value, ("spec",))
        for spec in [*specs, *(inner for holder in specs for inner in _maps_at(holder, ("template", "spec")))]:
            for container in (*_maps_at(spec, ("containers*",)), *_maps_at(spec, ("initContainers*",))):
                if isinstance(text := container.get("image"), str):
                    container["image"] = new_image(text)
        for holder, field in _holders(value, settings.get("additionalImageFields")):
            if isinstance(text := holder.get(field), str):
                holder[field] = new_image(text)

    return _of_value(change) if old else None


_UNNAMED = ("CustomResourceDefinition", "APIService", "Namespace", KPTFILE)


def _ensure_name_substring(settings: Object) -> ResourceEdit | None:
    names = _texts(settings)
    mode = names.get("editMode") or next((mode for mode in ("prepend", "append") if mode in names), "")
    part = names.get("substring") or names.get(mode, "")

    def with_part(name: str) -> str:
        return name if part in name else part + name if mode == "prepend" else name + part

    def change(value: Object) -> None:
        for reference in references_in(value):
            if reference.kind in _UNNAMED:
                continue
            *parents, field = reference.path
            holder = value_at(value, parents)
            if isinstance(holder, dict) and isinstance(field, str) and holder.get(field) == reference.name:
                holder[field] = with_part(reference.name)
        if value.get("kind") in _UNNAMED:
            return
        for metadata in _maps_at(value, ("metadata",)):
            if isinstance(name := metadata.get("name"), str):
                metadata["name"] = with_part(name)
        for notes in _maps_at(value, ("metadata", "annotations")):
            if isinstance(depends_on := notes.get(_DEPENDS_ON), str) and "," not in depends_on:
                target, slash, name = depends_on.rpartition("/")
                notes[_DEPENDS_ON] = target + slash + with_part(name)
        for holder, field in _holders(value, settings.get("additionalNameFields", settings.get("fieldSpecs"))):
            if isinstance(name := holder.get(field), str):
                holder[field] = with_part(name)

    return _of_value(change) if part and mode in ("prepend", "append") else None


_SETTER = re.compile(r"\$\{([^${}]*)\}")
_COMMENT = "# kpt-set: "


def _write_setters(item: Resource, *, setters: Mapping[str, str]) -> ItemFate:
    comments = CommentReader()

    def visit(node: Node) -> None:
        children: Iterable[Child] = ()
        if isinstance(node, MappingNode):
            children = node.fields.values()
        elif isinstance(node, SequenceNode):
            children = node.items
        for child in children:
            value = child.value if isinstance(child, Entry) else child
            line = comments.of(node, child).line or ""
            if not line.startswith(_COMMENT) or not write(child, value, line.removeprefix(_COMMENT).strip()):
                visit(value)

    def write(child: Child, value: Node, text: str) -> bool:
        names = _SETTER.findall(text)
        if isinstance(value, SequenceNode) and len(names) == 1 and text == f"${{{names[0]}}}" and names[0] in setters:
            items = to_value(read(setters[names[0]]))
            item.editor.replace(child, from_value(items if isinstance(items, list) else []))
            return True
        if not isinstance(value, Scalar) or not any(name in setters for name in names):
            return False
        if (new := _substitute(text, value.text, setters)) is not None and new != value.text:
            # The type of a plain value comes from its text, as before.
            plain = None if value.style else read(new)
            item.editor.replace(child, plain if isinstance(plain, Scalar) else from_value(new))
        return True

    if _COMMENT in item.source:
        visit(resolved(item.root))
    return CHANGED


def _substitute(text: str, value: str, setters: Mapping[str, str]) -> str | None:
    """The pattern with the setters' values; those that are not given have what the value has in their place."""
    values = dict(setters)
    names = _SETTER.findall(text)
    if any(name not in values for name in names):
        parts = _SETTER.split(text)
        # Every second part is a name.
        expected = "".join("(.*)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
        expression = pattern_of(f"(?s){expected}")
        match = None if isinstance(expression, str) else expression.fullmatch(value)
        if match is None or not all(match.groups()):
            return None
        values = dict(zip(names, match.groups(), strict=True)) | values
    return _SETTER.sub(lambda name: values[name[1]], text)


_FUNCTIONS: dict[str, Callable[[Object], ResourceEdit | None]] = {
    "apply-setters": lambda settings: partial(_write_setters, setters=_texts(settings)),
    "ensure-name-substring": _ensure_name_substring,
    "set-annotations": _set_annotations,
    "set-image": _set_image,
    "set-labels": _set_labels,
    "set-namespace": _set_namespace,
}


_MUTATORS = ("pipeline", "mutators")


@dataclass(frozen=True, slots=True)
class DeclaredFunction:
    """A function of a pipeline by its name: the edits that it makes, and the resources that it is for."""

    name: str
    edit: ResourceEdit
    selectors: Sequence[Object] = ()
    exclude: Sequence[Object] = ()

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
        if isinstance(expected, dict):
            if not isinstance(here, dict) or any(here.get(key) != text for key, text in expected.items()):
                return False
        elif expected and here != expected:
            return False
    return True


class DeclaredPipeline:
    """The functions by the folders of the packages that declare them."""

    def __init__(self, functions: Mapping[str, Sequence[DeclaredFunction]]) -> None:
        """Takes the known functions of each package, in their order."""
        self._functions = functions
        self._values: dict[MappingNode, Object | None] = {}

    def rendered(self, member: Member) -> Object | None:
        """The value of a resource after all functions for it, empty where they remove it.

        None where there are none, or one of them fails.
        """
        # A resource is asked for twice: to match it, and to compare it.
        if member.root not in self._values:
            self._values[member.root] = self._rendered(member)
        return self._values[member.root]

    def _rendered(self, member: Member) -> Object | None:
        try:
            return next(reversed([value for _, value in self.steps(member)]), None)
        except (KrmMergeError, ValueError):
            # The render reports it.
            return None

    def steps(self, member: Member) -> Iterator[tuple[str, Object]]:
        """The value of a resource after each function that changes it, by the function's name; empty where it goes.

        Raises KrmMergeError and ValueError where a function fails.
        """
        item = Resource.from_tree(member.root, member.place)
        for function in self._around(member.place):
            if not function.is_for(to_value(item.root)):
                continue
            if function.edit(item) == REMOVED:
                yield function.name, {}
                return
            if item.is_changed:
                item = Resource.from_tree(item.merged(), member.place)
                yield function.name, to_value(item.root)

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


def _known_functions(kptfile: MappingNode, folder: str, documents: Sequence[Document]) -> Iterator[DeclaredFunction]:
    for function in read_functions(functions_at(kptfile, _MUTATORS)):
        fields = to_value(function.node)
        if not isinstance(fields, dict):
            continue
        config = _config(fields, folder, documents)
        name = image_repository(function.image).rpartition("/")[2]
        edit = catalog_edit(name, config) or _own_edit(config, folder, documents)
        if edit is not None:
            selectors, exclude = (_maps(fields.get(field)) for field in ("selectors", "exclude"))
            path = fields.get("configPath")
            program = name or function.exec
            label = function.name or (f"{program} ({path})" if path else program)
            yield DeclaredFunction(label, edit, selectors, exclude)


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


def _own_edit(config: Object, folder: str, documents: Sequence[Document]) -> ResourceEdit | None:
    """The edits of a function of our own in the package in a folder; None for others, and where programs take part."""
    kind = value_at(config, ("data", "function")) if config.get("kind") == CONFIG_MAP else config.get("kind")
    if kind not in ("PatchResources", "TransformResources"):
        return None
    resource_list = ResourceList.with_config(written(from_value(config)))
    paths = (path for entry in _maps(config.get("patches")) if isinstance(path := entry.get("path"), str))
    sources = {
        place: [Resource.from_tree(member.root, normpath(path)) for member in _members_at(place, documents)]
        for path in paths
        for place in [normpath(join(folder, path))]
    }
    resource_list.items[:] = [item for items in sources.values() for item in items]
    editor = _editor(str(kind), config, resource_list, partial(definitions_in, documents))
    return None if editor is None or resource_list.results.errors else partial(_edit, editor, frozenset(sources))


def _editor(
    kind: str, config: Object, resource_list: ResourceList, definitions: Definitions
) -> ItemEditor[object] | None:
    if kind == "PatchResources":
        from krm_merge.functions.patch_resources import Patcher, read_jobs

        jobs = read_jobs(resource_list)
        # They are known by their files here.
        jobs.sources.clear()
        return Patcher(jobs, definitions)
    plugins = _maps(config.get("plugins"))
    if not plugins or not all("patches" in plugin for plugin in plugins):
        # Others are programs, which nobody asked to run.
        return None
    from krm_merge.functions.transform_config import read_transformation
    from krm_merge.functions.transform_resources import Transformer
    from krm_merge.transform.plugins.sources import PluginDirectory

    transformation = read_transformation(resource_list, PluginDirectory())
    return None if transformation is None else Transformer(transformation, definitions)


def _edit(editor: ItemEditor[object], sources: Container[str | None], item: Resource) -> ItemFate:
    # Patches are no resources of the package.
    return SAME if item.kind == KPTFILE or item.file in sources else editor.edit(item)
