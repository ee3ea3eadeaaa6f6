"""Value classes, regular expressions and what else all layers share, which take almost no time to import.

The function starts at every render, and merges one Kptfile in a few milliseconds. `dataclasses` writes and compiles
source for every class and imports modules for that: with forty classes, this was a third of a run. A regular
expression is compiled even if it is never used. Modules that every run or an update imports use these; all others use
`dataclasses` and `re`. Values of which a large package makes thousands are named tuples, which are made in a quarter of
the time. tests/test_startup.py checks what a run imports.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from itertools import repeat
from operator import attrgetter, call
from typing import Any, AnyStr, TypeVar, dataclass_transform

Key = TypeVar("Key")
Value = TypeVar("Value")


class _Fresh:
    def __init__(self, factory: Callable[[], object]) -> None:
        self.factory = factory


def fresh(*, factory: Callable[[], Value]) -> Value:
    """A default of a field of `frozen` that is created for every instance."""
    return _Fresh(factory)  # type: ignore[return-value]


@dataclass_transform(frozen_default=True, field_specifiers=(fresh,))
def frozen(cls: type[Value]) -> type[Value]:
    """Makes a class of annotated fields a value, as `dataclass(frozen=True, slots=True)` does.

    Methods that the class defines for `==`, `hash` or `repr` are kept; its `__post_init__` runs after the initializer.
    """
    names = tuple(cls.__annotations__)
    members = dict(cls.__dict__)
    defaults = {name: members.pop(name) for name in names if name in members}
    for unwanted in ("__dict__", "__weakref__"):
        members.pop(unwanted, None)
    common = {"__slots__": names, "__match_args__": names, "__setattr__": _refuse, "__delattr__": _refuse}
    metaclass: Any = type(cls)
    value = metaclass(cls.__name__, cls.__bases__, {**common, **_by_fields(names), **members})
    value.__qualname__ = cls.__qualname__
    value.__init__ = _initializer(value, names, defaults)
    return value  # type: ignore[no-any-return]


def replace(value: Value, **changes: object) -> Value:
    """A copy with other fields, of dataclasses and of `frozen` classes, which `dataclasses.replace` does not accept."""
    names: tuple[str, ...] = value.__match_args__  # type: ignore[attr-defined]
    return type(value)(**{name: getattr(value, name) for name in names} | changes)


def group_by_key(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of pairs by their keys, both in the order in which they come."""
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def split_names(text: str) -> list[str]:
    """The names in a text, separated by commas."""
    return [name for part in text.split(",") if (name := part.strip())]


def pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is compiled on first use."""
    return _Pattern(source, flags)  # type: ignore[return-value]


class _Pattern:
    """A regular expression that is not compiled yet; every method is looked up once."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> object:
        attribute = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, attribute)
        return attribute


def _initializer(cls: type, names: tuple[str, ...], defaults: dict[str, object]) -> Callable[..., None]:
    # Set slots directly: the class refuses to set attributes.
    setters = tuple(cls.__dict__[name].__set__ for name in names)
    size = len(names)
    finish = cls.__dict__.get("__post_init__")

    def initialize(self: object, *values: object, **named: object) -> None:
        if len(values) != size or named:
            rest = [named.pop(name, defaults.get(name, _ABSENT)) for name in names[len(values) :]]
            if named or _ABSENT in rest or len(values) > size:
                raise TypeError(_problem(cls.__name__, names, values, named, rest))
            values = (*values, *[default.factory() if type(default) is _Fresh else default for default in rest])
        # Setters return None, so `any` calls all of them, three times as fast as a `for` loop.
        any(map(call, setters, repeat(self), values))

    if finish is None:
        return initialize

    def initialize_and_finish(self: object, *values: object, **named: object) -> None:
        initialize(self, *values, **named)
        finish(self)

    return initialize_and_finish


_ABSENT = object()


def _problem(
    cls: str, names: tuple[str, ...], values: tuple[object, ...], wrong: dict[str, object], rest: list[object]
) -> str:
    """The message for wrong arguments of an initializer."""
    if len(values) > len(names):
        return f"{cls} has {len(names)} fields; {len(values)} values are given"
    if wrong:
        return f"{cls} has no such field, or has it already: {', '.join(wrong)}"
    missing = [name for name, argument in zip(names[len(values) :], rest, strict=True) if argument is _ABSENT]
    return f"{cls} lacks {', '.join(missing)}"


def _by_fields(names: tuple[str, ...]) -> dict[str, Any]:
    """The methods that compare, show and pickle a value by its fields."""
    fields: Any = attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, names[0]),)

    def equal(self: object, other: object) -> bool:
        return fields(self) == fields(other) if type(self) is type(other) else NotImplemented

    def represent(self: object) -> str:
        parts = (f"{name}={field!r}" for name, field in zip(names, fields(self), strict=True))
        return f"{type(self).__qualname__}({', '.join(parts)})"

    return {
        "__eq__": equal,
        "__hash__": lambda self: hash(fields(self)),
        "__repr__": represent,
        "__reduce__": lambda self: (type(self), fields(self)),
    }


def _refuse(self: object, name: str, *value: object) -> None:
    raise AttributeError(f"{type(self).__qualname__} is a value, so its {name} cannot change; use replace")


def lazy_interface(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose public names are imported when somebody asks for them (PEP 562).

    `homes` maps modules in the package to the public names that they define, separated by blanks.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted({*home_of, *vars(sys.modules[package])})
