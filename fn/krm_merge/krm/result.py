"""Results in the form of the KRM functions specification, and their YAML: thousands of one shape, written fast."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from krm_merge.krm.identity import Identity
from krm_merge.safe_text import line, lines, without_credentials
from krm_merge.startup import fresh, frozen, replace
from krm_merge.text import STEP, Scalar, Value, block_text, needs_block, scalar_text

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    class About(TypedDict, total=False):
        """The fields of Result by name."""

        resource: ResourceRef | None
        file: str | None
        file_index: int
        path: str | None
        current: str | None
        proposed: str | None
        tags: dict[str, str]
        rule: str


Severity: TypeAlias = Literal["error", "warning", "info"]
"""How grave a result is; with an error the function exits 1."""


@frozen
class ResourceRef:
    """Which resource a result or a decision is about; `namespace` is '' for none."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""

    @property
    def identity(self) -> Identity:
        """Which resource it is, whatever its API version."""
        return Identity(self.api_version.rpartition("/")[0], self.kind, self.namespace, self.name)

    def to_value(self) -> dict[str, Value]:
        """The form of the specification."""
        value: dict[str, Value] = {"apiVersion": self.api_version, "kind": self.kind, "name": self.name}
        if self.namespace:
            value["namespace"] = self.namespace
        return value

    def __str__(self) -> str:
        """As people name it: kind and name, with the namespace in front of the name."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}".strip()


@frozen
class Result:
    """One result: how grave, what, where, and by which rule.

    Every layer reports with this record. The place is the resource, its file with the index
    in it, and the path of a field; `current` and `proposed` are the values of that field before and after, as text.
    `rule` is the number of a rule of the docs; the specification has no field for it, so it is written as a tag.
    """

    severity: Severity
    message: str
    resource: ResourceRef | None = None
    file: str | None = None
    file_index: int = 0
    path: str | None = None
    current: str | None = None
    proposed: str | None = None
    tags: dict[str, str] = fresh(factory=dict)
    rule: str = ""

    def __post_init__(self) -> None:
        """Credentials in URLs stay out of results."""
        for name, text in (("message", self.message), ("current", self.current), ("proposed", self.proposed)):
            if text is not None and "://" in text:
                object.__setattr__(self, name, without_credentials(text))
        if "://" in "\n".join(self.tags.values()):
            object.__setattr__(self, "tags", {name: without_credentials(text) for name, text in self.tags.items()})

    def to_value(self) -> dict[str, Value]:
        """The form of the specification; what is not set is left out."""
        return {
            "message": self.message,
            **_severity_and_resource(self.severity, self.resource),
            **_field(self),
            **_file(self.file, self.file_index),
            **_tags(self),
        }


def _escape_for_terminals(result: Result, escape: Callable[[str], str]) -> Result:
    """The result with what kpt prints as it is so that a terminal only shows it: message, resource and path."""
    resource = result.resource
    texts = [result.message, result.path or ""]
    if resource is not None:
        texts += [resource.api_version, resource.kind, resource.name, resource.namespace]
    if "".join(texts).isprintable():
        return result
    if resource is not None:
        resource = ResourceRef(
            line(resource.api_version), line(resource.kind), line(resource.name), line(resource.namespace)
        )
    path = None if result.path is None else line(result.path)
    return replace(result, message=escape(result.message), resource=resource, path=path)


class Results:
    """The results of one run, in the order in which they were reported."""

    def __init__(self) -> None:
        """No results yet."""
        self._results: list[Result] = []

    def __iter__(self) -> Iterator[Result]:
        """All results."""
        return iter(self._results)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._results)

    def add(self, result: Result) -> None:
        """Reports a result."""
        self._results.append(result)

    def error(self, message: str, **about: Unpack[About]) -> None:
        """Reports an error; takes the other fields of Result by name. The function then exits 1."""
        self.add(Result("error", message, **about))

    def warning(self, message: str, **about: Unpack[About]) -> None:
        """Reports a warning; takes the other fields of Result by name."""
        self.add(Result("warning", message, **about))

    def info(self, message: str, **about: Unpack[About]) -> None:
        """Reports a fact; takes the other fields of Result by name."""
        self.add(Result("info", message, **about))

    def escape(self, *, as_lines: bool) -> None:
        """Escapes what a terminal would obey where a host prints results. Values, tags and files stay exact.

        `as_lines` makes each message one line; otherwise line ends are the writer's own.
        """
        escape = line if as_lines else lines
        self._results = [_escape_for_terminals(result, escape) for result in self._results]

    @property
    def errors(self) -> list[Result]:
        """The results of severity error."""
        return [result for result in self._results if result.severity == "error"]


def results_text(results: Iterable[Result], newline: str) -> str:
    """The field `results` of a ResourceList, in complete lines."""
    text = "".join(["results:\n", *map(_item, results)])
    return text if newline == "\n" else text.replace("\n", newline)


_PAD = "  "


def _item(result: Result) -> str:
    """The result as an item of a list, in complete lines."""
    # What thousands of results of a resource have in common is written once.
    head = _lines_of_resource(result.severity, result.resource)
    file = _lines_of_file(result.file, result.file_index)
    # kpt prints the field in front of the message.
    text = result.message.removeprefix(f"{result.path}: ") if result.path else result.message
    message = _line("message", text, _PAD, scalar_text)
    return f"- {message[2:]}{head}{_lines(_field(result), _PAD)}{file}{_lines(_tags(result), _PAD)}"


def _field(result: Result) -> dict[str, Value]:
    if result.path is None:
        return {}
    about: dict[str, Value] = {"path": result.path}
    if result.current is not None:
        about["currentValue"] = result.current
    if result.proposed is not None:
        about["proposedValue"] = result.proposed
    return {"field": about}


def _tags(result: Result) -> dict[str, Value]:
    tags: dict[str, Value] = {"rule": result.rule, **result.tags} if result.rule else {**result.tags}
    return {"tags": tags} if tags else {}


def _severity_and_resource(severity: Severity, resource: ResourceRef | None) -> dict[str, Value]:
    about: dict[str, Value] = {"severity": severity}
    return about if resource is None else about | {"resourceRef": resource.to_value()}


def _file(path: str | None, index: int) -> dict[str, Value]:
    if path is None:
        return {}
    return {"file": {"path": path, "index": index} if index else {"path": path}}


@lru_cache(maxsize=16)
def _lines_of_resource(severity: Severity, resource: ResourceRef | None) -> str:
    return _lines(_severity_and_resource(severity, resource), _PAD)


@lru_cache(maxsize=16)
def _lines_of_file(path: str | None, index: int) -> str:
    return _lines(_file(path, index), _PAD)


def _lines(value: dict[str, Value], pad: str) -> str:
    return "".join([_line(name, inner, pad) for name, inner in value.items()])


@lru_cache(maxsize=1024)
def _scalar(value: str | int) -> str:
    return scalar_text(value)


@lru_cache(maxsize=1024)
def _key(name: str) -> str:
    return scalar_text(name, flow=True)


def _line(name: str, value: Value, pad: str, write: Callable[[str | int], str] = _scalar) -> str:
    if isinstance(value, dict):
        return f"{pad}{_key(name)}:\n{_lines(value, f'{pad}  ')}"
    assert isinstance(value, str | int)
    if type(value) is str and "\n" in value and needs_block(node := Scalar.new(value, '"')):
        return f"{pad}{_key(name)}:{block_text(node, len(pad), STEP, '')}"
    return f"{pad}{_key(name)}: {write(value)}\n"
