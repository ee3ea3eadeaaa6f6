"""Which values are hidden (rule M6): those of Secrets, and those that are secret by their name or text.

This is the one place that decides it, for merges, reports, patches and plugins.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from krm_merge.krm import ANY, FieldPath, Step, identity_of
from krm_merge.startup import frozen, pattern
from krm_merge.text import (
    Alias,
    MappingNode,
    Scalar,
    SequenceNode,
    Source,
    documents_in,
    key_text,
    resolved,
    to_value,
)

_KINDS = ("secret", "secretlist")
_ENDS = ("_password", "_token", "_secret", "_key")
_ALONE = ("password", "token", "secret")
"""Names of variables that need no word before them."""

_SECRET = pattern(
    r"""kind["']?\s*:\s*["']?Secret(?:List)?\b|\bsecretGenerator\b|last-applied-configuration|PRIVATE KEY-----""",
    re.IGNORECASE,
)
# A reference such as $NAME or {{ name }} is no value.
_ASSIGNMENT = pattern(
    r"""(?:^[ \t]*(?:-[ \t]+|export[ \t]+)*|["'])([\w./-]+)(?:["'][ \t]*:|[ \t]*:[ \t]|["']?[ \t]*=)[ \t]*"""
    r"""(?!["']{2}|["']?[{\[$<])["']?[^\s"']""",
    re.MULTILINE,
)
_WORDS = (
    *("password", "token", "secret", "private key", "stringdata", "last-applied-configuration"),
    *("-key", "_key", ".key", "/key"),
)
"""Every value that is hidden without a redaction has one of these, or its name has."""
_DIVIDERS = str.maketrans("-./", "___")
_ELEMENT = pattern(
    r"""\b(?:name|key)["']?[ \t]*:[ \t]*["']?([\w./-]+)["']?[ \t]*(?:,|\r?\n)\s*["']?value["']?[ \t]*:""",
)


def is_secret_kind(kind: str) -> bool:
    """Whether resources of a kind are Secrets, in whatever case it is written."""
    return kind.strip().lower() in _KINDS


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a field of this name is secret where it holds a text or number."""
    return _normal(name).endswith(_ENDS)


def is_secret_variable(name: str, patterns: Sequence[str]) -> bool:
    """Whether a variable of this name is secret, by itself or by one of the user's patterns."""
    return is_secret_name(name) or _normal(name).strip("_") in _ALONE or fits(name, patterns)


def fits(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name fits one of the user's patterns."""
    return any(fnmatchcase(_normal(name), _normal(each)) for each in patterns)


def holds_secret(text: str, start: int = 0, end: int | None = None) -> bool:
    """Whether a Secret or a private key may be written in a part of a text."""
    return _SECRET.search(text, start, len(text) if end is None else end) is not None


def is_telling(text: str, patterns: Sequence[str] = ()) -> bool:
    """Whether a text holds a Secret, a private key, or a secret variable with its value."""
    if holds_secret(text):
        return True
    if ":" not in text and "=" not in text:
        return False
    names = {match[1] for expression in (_ASSIGNMENT, _ELEMENT) for match in expression.finditer(text)}
    return any(is_secret_variable(name, patterns) for name in names)


@lru_cache(maxsize=4096)
def _normal(name: str) -> str:
    """A name as patterns are compared with it: DB_TOKEN, db-token and db.token are one."""
    return name.lower().translate(_DIVIDERS)


_NODES = (Scalar, MappingNode, SequenceNode, Alias)
_CONTENT = ("data", "stringData", "metadata")
"""Fields that an object has, and a reference to one has not."""
_NO_CONTENT = ("apiVersion", "kind", "type", "immutable")
_OPEN_FIELDS = ("name", "namespace", "labels")
"""Fields of a Secret's metadata that are shown. Annotations may hold all of the Secret."""

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SECRET_FIELDS = frozenset((_LAST_APPLIED, "secretGenerator", "stringData"))
_NO_VARIABLES = ("labels", "annotations")
"""Maps whose names say nothing about their values: the annotation `auth-secret` is the name of a Secret."""

_Place: TypeAlias = "tuple[str | None, ...]"
"""The fields that lead to a value; None is any element of a list."""
_Scope: TypeAlias = "tuple[tuple[FieldPath, str | None], ...]"
"""Of each redaction, what is left of its path at a place, and its pattern of names."""


@frozen
class Redaction:
    """Hides values: below a path, of fields and elements whose names fit a pattern, or both.

    In `field`, `*` is any text. The other fields select resources, as those of a rule do; None matches everything.
    """

    group: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    path: FieldPath | None = None
    field: str | None = None


@frozen
class _Found:
    """A hidden value.

    Its own name and content do not show that it is one where it `is_of_secret`, or that of a `variable`.
    """

    place: _Place
    value: Any
    is_of_secret: bool = False
    variable: str = ""


@frozen
class _Known:
    """All hidden values of a resource, the places of two kinds of them, and the names of variables by value's id."""

    found: list[_Found]
    of_secrets: frozenset[_Place]
    of_variables: frozenset[_Place]
    variables: dict[int, str]


class Secrecy:
    """What is hidden of one resource, on all its sides alike."""

    def __init__(self, roots: Iterable[MappingNode] = (), redactions: Sequence[Redaction] = ()) -> None:
        """`roots` is the resource on the sides that have it."""
        self._roots = tuple(roots)
        identities = [identity_of(root) for root in self._roots]
        fitting = [r for r in redactions if any(i.fits(r.group, r.kind, r.namespace, r.name) for i in identities)]
        self._scope: _Scope = tuple(
            (redaction.path or (), redaction.field) for redaction in fitting if redaction.path or redaction.field
        )
        self.is_whole = len(self._scope) < len(fitting) or any(map(is_secret_kind, (i.kind for i in identities)))
        """Whether all of it is hidden but its name, namespace and labels."""

    def hides(self, path: FieldPath, values: Iterable[Any]) -> bool:
        """Whether anything at a path is hidden; `values` are what there is, as nodes or plain values, or None."""
        if self.is_whole and (len(path) < 2 or path[0] != "metadata" or path[1] not in _OPEN_FIELDS):
            return True
        present = [value for value in values if value is not None]
        if present and all(isinstance(value, _NODES) and value.source in self._open_texts for value in present):
            # To look through all values takes as long as merging them; most resources hold none of the words.
            return False
        scope = self._scope
        for at, step in enumerate(path):
            if isinstance(step, str) and (step in _SECRET_FIELDS or fits(step, _patterns(scope))):
                return True
            element = path[at - 1] if at and step == "value" else None
            if isinstance(element, tuple) and _variable_of(dict(element), scope):
                return True
            scope = tuple(rule for one in scope if (rule := _below(one, _may_lead(one[0], step))) is not None)
            if _is_covered(scope):
                return True
        if _names_secret(path) and any(map(_is_text_or_number, present)):
            return True
        place = tuple(step if isinstance(step, str) else None for step in path)
        return any(next(_find_secrets(value, place, scope), None) for value in present) or self._is_inside(path, place)

    @cached_property
    def _open_texts(self) -> Collection[Source]:
        """The texts of all sides if nothing in them is hidden: no side has a word that hides a value."""
        texts = [root.source for root in self._roots if root.source is not None]
        is_open = not self._scope and len(texts) == len(self._roots) and not any(map(_may_hide, texts))
        return texts if is_open else ()

    def values(self) -> list[Any]:
        """The hidden values of all sides."""
        return [secret.value for secret in self._known.found]

    def place(self, path: FieldPath, values: Iterable[Any]) -> FieldPath:
        """A path to hidden values, with the name of the variable where a position leads to it (M6)."""
        if not any(isinstance(step, int) for step in path):
            return path
        names = self._known.variables
        for value in values:
            if name := names.get(id(value)) or _variable_of(_fields_of(value) or {}, self._scope):
                return (*path, name)
        return path

    @cached_property
    def _known(self) -> _Known:
        """All that is hidden, looked for once."""
        secrets = [secrets for root in self._roots for secrets in _find_secrets(root, (), self._scope)]
        return _Known(
            secrets,
            frozenset(one.place for one in secrets if one.is_of_secret),
            frozenset(one.place for one in secrets if one.variable),
            {id(resolved(one.value)): one.variable for one in secrets if one.variable},
        )

    @cached_property
    def _may_hold_secret(self) -> bool:
        return any(map(_may_hold_secret, self._roots))

    def _is_inside(self, path: FieldPath, place: _Place) -> bool:
        """Whether something around the value hides it that neither the path nor the value itself shows.

        Positions differ between the sides, so whatever an element of a list hides is hidden in all of them.
        """
        if not self._may_hold_secret and ("value" not in path or all(map(_has_name, path))):
            return False
        known = self._known
        return any(
            place[:end] in known.of_secrets or (place[:end] in known.of_variables and not _has_name(path[end - 2]))
            for end in range(1, len(place) + 1)
        )


def hidden_in(value: Any) -> Iterator[Any]:
    """The values in a node or plain value that are hidden whoever looks at them."""
    return (secret.value for secret in _find_secrets(value, (), ()))


def is_secret_file(data: bytes, redactions: Sequence[Redaction] = ()) -> bool:
    """Whether a file that was merged as a text or as a whole holds anything hidden."""
    everywhere = [redaction.field for redaction in redactions if redaction == Redaction(field=redaction.field)]
    if is_telling(data.decode("latin-1"), [field for field in everywhere if field is not None]):
        return True
    if not redactions and b"value" not in data:
        # What names alone do not show in a text is hidden by the user, or in elements whose fields are in any order.
        return False
    mappings = (root for root in documents_in(data) or () if isinstance(root, MappingNode))
    return any(Secrecy((root,), redactions).hides((), (root,)) for root in mappings)


# ---- values ----------------------------------------------------------------------------------------------------------


def _find_secrets(value: Any, place: _Place, scope: _Scope) -> Iterator[_Found]:
    """The outermost hidden values in a value at a place."""
    value = resolved(value)
    fields = _fields_of(value)
    if fields is not None:
        yield from _found_in_fields(fields, place, scope)
    elif isinstance(value, SequenceNode | list):
        for at, item in enumerate(value.items if isinstance(value, SequenceNode) else value):
            yield from _found_below(item, (*place, None), scope, at)
    elif is_telling(_text(value), _patterns(scope)):
        yield _Found(place, value)


def _found_in_fields(fields: Mapping[str, Any], place: _Place, scope: _Scope) -> Iterator[_Found]:
    is_secret = is_secret_kind(_text(fields.get("kind"))) and any(name in fields for name in _CONTENT)
    variable = _variable_of(fields, scope)
    for name, child in fields.items():
        at = (*place, name)
        if is_secret and name == "metadata" and (inner := _fields_of(resolved(child))) is not None:
            for field, value in inner.items():
                if field not in _OPEN_FIELDS:
                    yield _Found((*at, field), value, is_of_secret=True)
        elif is_secret and name not in _NO_CONTENT:
            yield _Found(at, child, is_of_secret=True)
        elif variable and name == "value":
            yield _Found(at, child, variable=variable)
        elif (
            name in _SECRET_FIELDS or fits(name, _patterns(scope)) or (_names_secret(at) and _is_text_or_number(child))
        ):
            yield _Found(at, child)
        else:
            yield from _found_below(child, at, scope, name)


def _found_below(child: Any, place: _Place, scope: _Scope, step: str | int) -> Iterator[_Found]:
    inner = tuple(rule for outer in scope if (rule := _below(outer, _leads(outer[0], step, child))) is not None)
    if _is_covered(inner):
        yield _Found(place, child)
    else:
        yield from _find_secrets(child, place, inner)


def _has_name(step: Step) -> bool:
    """Whether a step of a path shows the name of what it leads to."""
    return isinstance(step, str) or (isinstance(step, tuple) and "name" in dict(step))


def _fields_of(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, MappingNode):
        return {key_text(entry.key): entry.value for entry in value.fields.values()}
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str:
    """A text as it is; '' for all else."""
    if isinstance(value, Scalar | Alias):
        value = value.canonical
    return value if isinstance(value, str) else ""


def _key(value: Any) -> str:
    """A text or number as a path has it."""
    value = resolved(value)
    return value.text if isinstance(value, Scalar) else str(value)


def _is_text_or_number(value: Any) -> bool:
    value = to_value(value) if isinstance(value, Scalar | Alias) else value
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _may_hold_secret(root: MappingNode) -> bool:
    """Whether a Secret may be inside a resource."""
    source = root.source
    return source is None or holds_secret(source.text, root.start, root.end)


def _may_hide(source: Source) -> bool:
    """Whether anything may be hidden in a resource without redactions: its text has a word that hides values."""
    # Escapes write words without their letters.
    text = source.text.casefold()
    return "\\" in text or any(map(text.__contains__, _WORDS))


def _names_secret(path: Sequence[Step | None]) -> bool:
    """Whether a path ends in a field that is secret where it holds a text or number."""
    last = path[-1] if path else None
    return isinstance(last, str) and is_secret_name(last) and not (len(path) > 1 and path[-2] in _NO_VARIABLES)


def _variable_of(element: Mapping[str, Any], scope: _Scope) -> str:
    """The name of an element that is a variable with a secret value, or ''."""
    names = (_text(element.get(key)) for key in ("name", "key"))
    return next((name for name in names if name and is_secret_variable(name, _patterns(scope))), "")


# ---- redactions ------------------------------------------------------------------------------------------------------


def _patterns(scope: _Scope) -> tuple[str, ...]:
    """The patterns of names that hold at a place."""
    return tuple(field for rest, field in scope if not rest and field is not None)


def _is_covered(scope: _Scope) -> bool:
    """Whether a path ends here that hides everything below."""
    return any(not rest and field is None for rest, field in scope)


def _below(rule: tuple[FieldPath, str | None], leads: bool) -> tuple[FieldPath, str | None] | None:
    """What is left of a redaction one step further; None where it is about something else."""
    rest, field = rule
    return rule if not rest else (rest[1:], field) if leads else None


def _leads(rest: FieldPath, step: str | int, child: Any) -> bool:
    """Whether a path leads to a child that is seen."""
    if not rest or rest[0] in (ANY, step):
        return True
    fields = _fields_of(resolved(child)) if isinstance(step, int) else None
    if fields is None or not isinstance(rest[0], tuple):
        return False
    # Functions are named by their image without the version.
    texts = ((name, _key(fields.get(name)), text_of_rule) for name, text_of_rule in rest[0])
    return all(
        text == text_of_rule or (name == "image" and text.startswith(text_of_rule))
        for name, text, text_of_rule in texts
    )


def _may_lead(rest: FieldPath, step: Step) -> bool:
    """Whether a path leads to a step of another path: where both know an element by something else, it may."""
    if not rest or rest[0] in (ANY, step):
        return True
    if isinstance(rest[0], tuple) and isinstance(step, tuple):
        values = dict(step)
        return all(values.get(name, text) == text for name, text in rest[0])
    return not isinstance(rest[0], str) and not isinstance(step, str)
