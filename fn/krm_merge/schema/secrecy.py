"""Which values are hidden (rule M6): those of Secrets, and those that are secret by their name or text.

This is the one place that decides it, for merges, reports, patches and plugins.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

from krm_merge.krm import FieldPath, Step
from krm_merge.startup import frozen, pattern
from krm_merge.text import (
    IN_COLLECTIONS,
    Alias,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    Source,
    TextError,
    canonical_text,
    read_all,
    resolved,
    to_value,
)

_KINDS = ("secret", "secretlist")
_ENDS_OF_VALUES = ("password", "passwd", "passphrase", "token", "apikey", "privatekey", "accesskey", "clientsecret")
_ENDS = (*_ENDS_OF_VALUES, "_secret", "_key")
"""Ends of the names of secrets. In labels and annotations, the last two end the names of what holds a secret."""
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SECRET_FIELDS = frozenset((_LAST_APPLIED, "secretGenerator", "stringData", "auths", ".dockercfg", ".dockerconfigjson"))
"""Fields that hold secrets, whatever is in them. The last three are those of Docker's settings."""
_WORDS = (
    *("password", "passwd", "passphrase", "token", "secret", "apikey", "privatekey", "accesskey", "private key"),
    *("-key", "_key", ".key", "/key", "stringdata", "last-applied-configuration", "auths", "dockerc", "patch"),
    *("\\", "!"),
)
"""Every value that is hidden has one of these, or its name has: escapes and tags write others."""

_SECRET = pattern(
    r"""kind["']?\s*:\s*(?:[!&>|]\S{0,40}\s+){0,3}["']?(?:Secret(?:List)?\b|U2VjcmV0)|PRIVATE KEY-----"""
    r"""|(?:\bsecretGenerator|\bstringData|last-applied-configuration|["']auths|\.dockercfg|\.dockerconfigjson)["']?\s*:""",
    re.IGNORECASE,
)
_REFERENCE = (
    r"(?:\$\([^()\n]{0,80}\)|\$\{[\w.-]{0,80}\}|\$[A-Z_][A-Z0-9_]*|\{\{[^{}\n]{0,200}\}\}|<[^<>\n]{0,80}>)"
    r"""(?=[\s"',;)}\]]|\Z)"""
)
"""$NAME, {{ name }} and the like: no value, but where one comes from."""
_VALUE = (
    rf"""(?!["']{{2}}|\#\s|["']?(?:{_REFERENCE}|[{{\[](?!\{{|\w+[}}\]]\S)|(?i:true|false|null|~)(?=[\s,}}\]"']|\Z)))"""
    r"""(?=["']?[^\s"'])"""
)
_WHOLE_REFERENCE = pattern(rf"\s*{_REFERENCE}\s*\Z")
_ASSIGNMENT = pattern(
    rf"""(?:^[ \t\#]*(?:-[ \t]+|export[ \t]+)*|[{{,][ \t]*|["'])([\w./-]+)(?:["'][ \t]*:|[ \t]*:[ \t])[ \t]*{_VALUE}"""
    rf"""|(?<![\w./-])([\w./-]+)["']?[ \t]*=(?!=)[ \t]*{_VALUE}"""
    rf"""|(?<![\w.-])--?([\w.-]+)[ \t]+(?!-){_VALUE}""",
    re.MULTILINE,
)
_NEEDS_READING = pattern(
    rf"(?:{'|'.join(_ENDS_OF_VALUES)}|[-_./](?:secret|key)|\bsecret)(?![\w./-])|\\|!!|!<|%TAG|(?<!\S)&\w|patch",
    re.IGNORECASE,
)
"""A name of a secret, or what may write another: to read a text takes ten times as long as to search it."""
_OPTION = pattern(r"--?[\w.-]+\Z")
_DIVIDERS = str.maketrans("-./", "___")
_ELEMENT = pattern(
    r"""\b(?:name|key)["']?[ \t]*:[ \t]*["']?([\w./-]+)["']?[ \t]*(?:,|\r?\n)[\s#]*["']?value["']?[ \t]*:""",
)
_ESCAPE = pattern(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrt])|(\r?\n)[ \t]*)?")
_FEW_FIELDS = 4
_MOST_TEXTS = 8
"""Texts in texts that are read; what holds more is hidden if it may hold a secret."""


def is_secret_kind(kind: str) -> bool:
    """Whether resources of a kind are Secrets, in whatever case it is written."""
    return kind.strip().lower() in _KINDS


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a name is that of a secret: of a field, a variable, an option or a setting in a text."""
    normal = _normal(name)
    return normal.endswith(_ENDS) or normal.strip("_") == "secret"


def is_telling(text: str) -> bool:
    """Whether a text holds a Secret, a private key, or a secret name with its value."""
    return next(_found_in_text(text, text, ()), None) is not None


@lru_cache(maxsize=4096)
def _normal(name: str) -> str:
    """A name as it is compared: DB_TOKEN, db-token and db.token are one."""
    return name.lower().translate(_DIVIDERS)


_NODES = (Scalar, MappingNode, SequenceNode, Alias)
_CONTENT = ("data", "stringData", "metadata")
"""Fields that an object has, and a reference to one has not."""
_NO_CONTENT = ("apiVersion", "kind", "type", "immutable")
_OPEN_FIELDS = ("name", "namespace", "labels")
"""Fields of a Secret's metadata that are shown. Annotations may hold all of the Secret."""

_NO_VARIABLES = ("labels", "annotations")
"""Maps where a name says less about the value: the annotation `auth-secret` is the name of a Secret."""

_Place: TypeAlias = "tuple[str | tuple[str] | None, ...]"
"""The fields that lead to a value, and the names of elements of lists; None is any element."""


@frozen
class _Found:
    """A hidden value.

    Where it `covers` what is in it, neither the names nor the values there show that they are hidden. `variable` is the
    name of the variable that it is the value of.
    """

    place: _Place
    value: Any
    covers: bool = False
    variable: str = ""


@frozen
class _Covered:
    """Places that cover what is in them; in those without names, every element of a list is any."""

    named: frozenset[_Place]
    without_names: frozenset[_Place]


class Secrecy:
    """What is hidden of one resource, on all its sides alike."""

    def __init__(self, roots: Iterable[MappingNode] = ()) -> None:
        """`roots` is the resource on the sides that have it."""
        self._roots = tuple(roots)
        self.is_whole = any(map(_is_secret, self._roots))
        """Whether all of it is hidden but its name, namespace and labels."""
        self._covered_below: dict[tuple[str, ...], _Covered] = {}

    def hides(self, path: FieldPath, values: Iterable[Any]) -> bool:
        """Whether anything at a path is hidden; `values` are what there is, as nodes or plain values, or None."""
        if self.is_whole and (len(path) < 2 or path[0] != "metadata" or path[1] not in _OPEN_FIELDS):
            return True
        present = [value for value in values if value is not None]
        if present and self._open_texts and all(map(self._is_of_open_text, present)):
            # To look through all values takes as long as merging them; most resources hold none of the words.
            return False
        for at, step in enumerate(path):
            element = path[at - 1] if at and step == "value" else None
            if step in _SECRET_FIELDS or (isinstance(element, tuple) and _variable_of(dict(element))):
                return True
        place = tuple(_place_of(step) for step in path)
        return any(next(_find_secrets(value, place), None) for value in present) or self._is_inside(place)

    @cached_property
    def _open_texts(self) -> Collection[Source]:
        """The texts of all sides if nothing in them is hidden: no side has a word that hides a value."""
        texts = [root.source for root in self._roots if root.source is not None]
        is_open = len(texts) == len(self._roots) and not any(_may_hide(source.text) for source in texts)
        return texts if is_open else ()

    def _is_of_open_text(self, value: Any) -> bool:
        # A collection without a text is made of nodes of the sides.
        is_made = isinstance(value, MappingNode | SequenceNode) and value.source is None
        return is_made or (isinstance(value, _NODES) and value.source in self._open_texts)

    def values(self) -> list[Any]:
        """The hidden values of all sides."""
        return [secret.value for secret in self._secrets]

    def place(self, path: FieldPath, values: Iterable[Any]) -> FieldPath:
        """A path to hidden values, with the name of the variable where a position leads to it (M6)."""
        if not any(isinstance(step, int) for step in path):
            return path
        for value in values:
            if name := self._variables.get(id(value)) or _variable_of(_fields_of(value) or {}):
                return (*path, name)
        return path

    @cached_property
    def _secrets(self) -> list[_Found]:
        """All that is hidden, looked for once."""
        return [secret for root in self._roots for secret in _find_secrets(root, ())]

    @cached_property
    def _variables(self) -> dict[int, str]:
        """The names of variables by the ids of their values."""
        return {id(resolved(secret.value)): secret.variable for secret in self._secrets if secret.variable}

    def _is_inside(self, place: _Place) -> bool:
        """Whether something around the value hides it that neither the path nor the value itself shows.

        Positions differ between the sides, so whatever an element of a list hides is hidden in all of them.
        """
        if self._open_texts:
            return False
        covered = self._covered(tuple(step for step in place[:2] if isinstance(step, str)))
        around = (place[:end] for end in range(1, len(place) + 1))
        return any(
            _without_names(outer) in covered.without_names if None in outer else outer in covered.named
            for outer in around
        )

    def _covered(self, fields: tuple[str, ...]) -> _Covered:
        """What is covered below these outermost fields; of a resource with decisions on many of them, in all of it."""
        if len(self._covered_below) >= _FEW_FIELDS:
            fields = ()
        covered = self._covered_below.get(fields)
        if covered is None:
            secrets = (secret for root in self._roots for secret in _find_secrets(root, (), only=fields))
            named = frozenset(secret.place for secret in secrets if secret.covers)
            covered = self._covered_below[fields] = _Covered(named, frozenset(map(_without_names, named)))
        return covered


def hidden_in(value: Any) -> Iterator[Any]:
    """The values in a node or plain value that are hidden whoever looks at them."""
    return (secret.value for secret in _find_secrets(value, ()))


def is_secret_file(data: bytes) -> bool:
    """Whether a file that was merged as a text or as a whole holds anything hidden."""
    return is_telling(data.decode(errors="replace"))


# ---- values ----------------------------------------------------------------------------------------------------------


def _find_secrets(value: Any, place: _Place, texts: int = 0, only: tuple[str, ...] = ()) -> Iterator[_Found]:
    """The outermost hidden values in a value at a place, which is inside so many texts, and those inside of texts.

    Of maps around lists and texts, `only` these fields are looked at, one in each.
    """
    value = resolved(value)
    if isinstance(value, MappingNode | SequenceNode) and _is_open(value, place):
        return
    fields = _fields_of(value)
    if fields is not None:
        yield from _found_in_fields(fields, place, texts, only)
    elif isinstance(value, SequenceNode | list):
        items = value.items if isinstance(value, SequenceNode) else value
        if _has_secret_argument(items):
            yield _Found(place, value, covers=True)
            return
        for item in items:
            yield from _find_secrets(item, (*place, _element_of(item)), texts)
    elif _names_secret(place) and _is_value(value):
        yield _Found(place, value)
    else:
        yield from _found_in_text(_text(value), value, place, texts)


def _found_in_fields(fields: Mapping[str, Any], place: _Place, texts: int, only: tuple[str, ...]) -> Iterator[_Found]:
    is_secret = _is_secret(fields) and any(name in fields for name in _CONTENT)
    is_for_secrets = _selects_secrets(fields.get("target"))
    variable = _variable_of(fields)
    for name, child in fields.items():
        if only and name != only[0]:
            continue
        at = (*place, name)
        if is_secret and name == "metadata" and (inner := _fields_of(resolved(child))) is not None:
            for field, value in inner.items():
                if field not in _OPEN_FIELDS:
                    yield _Found((*at, field), value, covers=True)
        elif (is_secret and name not in _NO_CONTENT) or (is_for_secrets and "patch" in name.lower()):
            yield _Found(at, child, covers=True)
        elif variable and name == "value":
            yield _Found(at, child, covers=True, variable=variable)
        elif name in _SECRET_FIELDS:
            yield _Found(at, child)
        else:
            yield from _find_secrets(child, at, texts, only[1:])


def _found_in_text(text: str, value: Any, place: _Place, texts: int = 0) -> Iterator[_Found]:
    """The value whose text this is, if the text holds something hidden, and what is hidden in its fields."""
    if not _may_hide(text):
        return
    if texts == _MOST_TEXTS:
        yield _Found(place, value, covers=True)
        return
    is_hidden = _names_secret_in(text)
    if is_hidden:
        yield _Found(place, value)
    for root in _collections_in(text) if _NEEDS_READING.search(text) else ():
        for secret in _find_secrets(root, place, texts + 1):
            if not is_hidden:
                is_hidden = True
                yield _Found(place, value)
            yield secret


def _names_secret_in(text: str) -> bool:
    """Whether a text, which need not be YAML or JSON, names a Secret, a private key, or a secret with its value."""
    text = _ESCAPE.sub(_unescaped, text)
    if _SECRET.search(text):
        return True
    matches = (match for expression in (_ASSIGNMENT, _ELEMENT) for match in expression.finditer(text))
    return any(is_secret_name(match[match.lastindex or 0]) for match in matches)


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else "\n" if escape[3] else " " if escape[4] else ""


def _collections_in(text: str) -> Iterator[Node]:
    """The documents that a text is, if it is YAML or JSON; a text may be quoted once more."""
    if IN_COLLECTIONS.isdisjoint(text) or not (len(text.split(None, 1)) > 1 or text[0] in "[{\"'"):
        return
    with suppress(TextError):
        yield from (root for root in read_all(text) if not isinstance(root, Scalar) or root.style in ("'", '"'))


def _has_secret_argument(items: Sequence[Any]) -> bool:
    """Whether an argument in a list is the value of the option before it."""
    return any(
        _OPTION.match(option := _text(resolved(before)))
        and is_secret_name(option)
        and _is_value(after)
        and not _text(resolved(after)).startswith("-")
        for before, after in pairwise(items)
    )


def _is_secret(value: Any) -> bool:
    """Whether a mapping has the kind of Secrets."""
    return is_secret_kind(_text((_fields_of(value) or {}).get("kind")))


def _selects_secrets(target: Any) -> bool:
    """Whether the target of a patch selects Secrets by their kind, with a regular expression or without."""
    kind = _text((_fields_of(resolved(target)) or {}).get("kind"))
    if not kind or is_secret_kind(kind):
        return bool(kind)
    # Few resources have targets.
    from krm_merge.krm import pattern_of

    try:
        expression = pattern_of(kind)
    except ValueError:
        return False
    return not isinstance(expression, str) and expression.fullmatch("Secret") is not None


def _place_of(step: Step) -> str | tuple[str] | None:
    """A step of a path as it is in a place."""
    name = dict(step).get("name") if isinstance(step, tuple) else None
    return step if isinstance(step, str) else None if name is None else (name,)


def _element_of(item: Any) -> tuple[str] | None:
    """The same for an element of a list."""
    name = (_fields_of(resolved(item)) or {}).get("name")
    return None if name is None else (_key(name),)


def _without_names(place: _Place) -> _Place:
    return tuple(step if isinstance(step, str) else None for step in place)


def _fields_of(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, MappingNode):
        return {_text(entry.key) or canonical_text(entry.key.canonical): entry.value for entry in value.fields.values()}
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str:
    """A text as it is; '' for all else."""
    if isinstance(value, Scalar | Alias):
        value = value.canonical
    if isinstance(value, tuple) and value[0] == "binary":
        # Go reads it as the text that it encodes.
        try:
            return a2b_base64(str(value[1])).decode()
        except ValueError:
            return ""
    return value if isinstance(value, str) else ""


def _key(value: Any) -> str:
    """A text or number as a path has it."""
    value = resolved(value)
    return value.text if isinstance(value, Scalar) else str(value)


def _is_value(value: Any) -> bool:
    """Whether a value is a text or a number, and no reference to one."""
    value = to_value(value) if isinstance(value, Scalar | Alias) else value
    if isinstance(value, str):
        return bool(value.strip()) and not _WHOLE_REFERENCE.match(value)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _may_hide(text: str) -> bool:
    """Whether anything may be hidden in a text."""
    text = text.casefold()
    return any(map(text.__contains__, _WORDS))


def _is_open(node: MappingNode | SequenceNode, place: _Place) -> bool:
    """Whether neither the text of a collection nor the names around it have a word that hides a value."""
    source = node.source
    # The values of aliases are elsewhere in the text.
    if source is None or source.has_aliases or _may_hide(source.text[node.start : node.end]):
        return False
    return not any(_may_hide(step if isinstance(step, str) else step[0]) for step in place if step is not None)


def _names_secret(place: Sequence[str | tuple[str] | None]) -> bool:
    """Whether a text or number at a place is secret by its field's name; `value` and elements have the name around."""
    fields = [*place]
    while fields and not isinstance(fields[-1], str):
        fields.pop()
    if len(fields) > 1 and fields[-1] == "value":
        fields.pop()
    name = fields[-1] if fields else None
    if not isinstance(name, str):
        return False
    return (
        _normal(name).endswith(_ENDS_OF_VALUES)
        if fields[-2:-1] and fields[-2] in _NO_VARIABLES
        else is_secret_name(name)
    )


def _variable_of(element: Mapping[str, Any]) -> str:
    """The name of an element that is a variable with a secret value, or ''. The path of a JSON patch is one, too."""
    names = [_text(element.get(key)) for key in ("name", "key")]
    secret = next((name for name in names if is_secret_name(name)), "")
    path = _text(element.get("path"))
    return secret or (path if path.startswith("/") and _leads_to_secret(path) else "")


def _leads_to_secret(pointer: str) -> bool:
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")]
    fields = [step for step in steps if step != "-" and not step.isdecimal()]
    return _names_secret(fields) or not _SECRET_FIELDS.isdisjoint(fields)
