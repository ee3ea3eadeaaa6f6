"""Parses options of plugins: texts, some of which hold lists, maps and booleans. Source: crane-lib's option helpers."""

from __future__ import annotations

from krm_merge.harmless import quoted
from krm_merge.transform.protocol.plugin import Options, PluginError

_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))


def list_option(options: Options, name: str) -> list[str]:
    """The parts of `a,b`."""
    text = options.get(name, "")
    return [part.strip() for part in text.split(",") if part.strip()]


def map_option(options: Options, name: str, sign: str = "=") -> dict[str, str]:
    """The pairs of `a=b,c=d`. Raises PluginError for a part without `=`."""
    pairs: dict[str, str] = {}
    for part in list_option(options, name):
        key, found, value = part.partition(sign)
        if not found or not key:
            raise PluginError(f"option {name}: {quoted(part)!r} is not of the form key{sign}value")
        pairs[key] = value
    return pairs


def switch(options: Options, name: str, *, default: bool) -> bool:
    """A boolean in Go's spellings. Raises PluginError for any other text."""
    text = options.get(name, "")
    if text and text not in _TRUE | _FALSE:
        raise PluginError(f"option {name} is {quoted(text)!r}; true or false is expected")
    return text in _TRUE if text else default
