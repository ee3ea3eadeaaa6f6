"""Where a new resource belongs among files that somebody laid out: beside its kind, under a name like theirs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from posixpath import splitext
from typing import Final

from krm_merge.krm.identity import Identity
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.values import to_value

_APP_LABELS: Final = ("app.kubernetes.io/name", "app", "k8s-app")
_COMPONENT_LABEL: Final = "app.kubernetes.io/component"
_SOURCE = re.compile(r"^# Source: (\S+)$", re.MULTILINE)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_SHORT_KINDS: Final = {
    "ConfigMap": "cm",
    "CustomResourceDefinition": "crd",
    "DaemonSet": "ds",
    "Deployment": "deploy",
    "HorizontalPodAutoscaler": "hpa",
    "Ingress": "ing",
    "Namespace": "ns",
    "NetworkPolicy": "netpol",
    "PersistentVolumeClaim": "pvc",
    "PodDisruptionBudget": "pdb",
    "Service": "svc",
    "ServiceAccount": "sa",
    "StatefulSet": "sts",
}
"""kubectl's short names of kinds that files are named by."""


@dataclass(frozen=True, slots=True)
class Named:
    """What a file may be named by. `owner` is the resource of the package that the name of this one begins with."""

    identity: Identity
    app: str
    component: str
    source: str
    owner: str

    @property
    def parts(self) -> dict[str, str]:
        """The texts that a path may hold, by placeholder; none is empty."""
        parts = {
            "name": _safe(self.identity.name),
            "app": _safe(self.app),
            "component": _safe(self.component),
            "owner": _safe(self.owner),
            "namespace": _safe(self.identity.namespace),
        }
        return {placeholder: text for placeholder, text in parts.items() if text}

    @property
    def kinds(self) -> dict[str, str]:
        """The kind as files are named by it, by style."""
        kind = self.identity.kind
        words = [word.lower() for word in _HUMP.split(kind)]
        lower = "".join(words)
        styles = {
            "kind": lower,
            "kinds": _plural(lower),
            "kebab-kind": "-".join(words),
            "kebab-kinds": _plural("-".join(words)),
            "snake_kind": "_".join(words),
            "Kind": kind,
        }
        return styles | ({"short": _SHORT_KINDS[kind]} if kind in _SHORT_KINDS else {})

    @property
    def sources(self) -> dict[str, str]:
        """The path of the chart's template, whole, without the chart's name, and without `templates/`."""
        if not self.source:
            return {}
        _, _, in_chart = self.source.partition("/")
        forms = {"source": self.source, "template": in_chart, "file": in_chart.removeprefix("templates/")}
        return {placeholder: path for placeholder, path in forms.items() if path}


def named(resources: Iterable[tuple[MappingNode, Identity, str]]) -> list[Named]:
    """What the files of resources may be named by; takes each resource with its identity and the text of its document.

    All resources of the package are taken together: one may be named after another.
    """
    known = list(resources)
    names = {identity.name for _, identity, _ in known}
    return [
        Named(identity, *_labels(root), _source(text), _owner(identity.name, names)) for root, identity, text in known
    ]


def _labels(root: MappingNode) -> tuple[str, str]:
    metadata = root.get("metadata")
    labels = to_value(metadata.get("labels")) if isinstance(metadata, MappingNode) else None
    if not isinstance(labels, dict):
        return "", ""
    app = next((labels[label] for label in _APP_LABELS if label in labels), "")
    return str(app or ""), str(labels.get(_COMPONENT_LABEL) or "")


def _source(text: str) -> str:
    match = _SOURCE.search(text)
    return match[1] if match else ""


def _owner(name: str, names: set[str]) -> str:
    """The shortest name in the package that a name begins with, itself at last."""
    words = name.split("-")
    return next((start for at in range(1, len(words)) if (start := "-".join(words[:at])) in names), name)


def _plural(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def _safe(text: str) -> str:
    return _UNSAFE.sub("-", text).strip("-.")


# ---- templates -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Template:
    """A path with placeholders, such as `{name}/{kind}.yaml`."""

    path: str

    def path_of(self, resource: Named) -> str | None:
        """The path of a resource; None where it lacks what the path is named by."""
        texts = {**resource.parts, **resource.kinds, **resource.sources}
        wanted = _PLACEHOLDER.findall(self.path)
        if not all(placeholder in texts for placeholder in wanted):
            return None
        return _PLACEHOLDER.sub(lambda match: texts[match[1]], self.path)

    @property
    def placeholders(self) -> int:
        """How much of the path follows from the resource."""
        return self.path.count("{")


def templates_of(path: str, resource: Named) -> set[Template]:
    """Every convention that explains why a resource is in the file with this path; the path itself is one."""
    stem, suffix = splitext(path)
    segments = [sorted(_readings(segment, resource)) for segment in stem.split("/")]
    found = {Template("/".join(choice) + suffix) for choice in product(*segments)}
    for placeholder, source in resource.sources.items():
        if path == source or path.endswith(f"/{source}"):
            found.add(Template(f"{path.removesuffix(source)}{{{placeholder}}}"))
    return found


def _readings(segment: str, resource: Named) -> Iterator[str]:
    """A folder or file name with parts of it as placeholders, in every way that it can be read."""
    by_part = {segment, *(_put(segment, text, placeholder) for placeholder, text in resource.parts.items())}
    kinds = resource.kinds.items()
    yield from {*by_part, *(_put(reading, text, placeholder) for reading in by_part for placeholder, text in kinds)}


def _put(reading: str, text: str, placeholder: str) -> str:
    """A placeholder in the place of a text, where that is a word of its own outside of other placeholders."""
    word = rf"(?<![A-Za-z0-9{{]){re.escape(text)}(?![A-Za-z0-9}}])"
    pieces = _PLACEHOLDER.split(reading)
    pieces[1::2] = (f"{{{name}}}" for name in pieces[1::2])
    for at in range(0, len(pieces), 2):
        pieces[at], found = re.subn(word, f"{{{placeholder}}}", pieces[at], count=1)
        if found:
            break
    return "".join(pieces)


def default_path(resource: Named) -> str:
    """The file of a resource where there is no convention."""
    return f"{resource.kinds['kind']}-{resource.parts.get('name', 'unnamed')}.yaml"
