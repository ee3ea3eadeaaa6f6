"""The value of a scalar, and the scalar text of a value.

Scalars resolve as Go's yaml.v3 resolves them, since that is what kpt reads with: `yes` and `on` are strings, `0644` is
octal, a timestamp reaches Kubernetes as the string it is.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from krm_merge.startup import pattern

Canonical: TypeAlias = "str | tuple[object, ...]"
"""A hashable stand-in for a value, equal exactly when the values are equal as yaml.v3 reads them (type and value).

A string stands for itself, since nearly all keys and most values are strings; all else is a tuple of type and value.
"""

_CORE_NAMES = ("str", "int", "float", "bool", "null", "map", "seq", "merge", "timestamp", "binary")
CORE_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in _CORE_NAMES)

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
FIRST_OF_NUMBERS = frozenset("0123456789+-.")
TYPED_WORDS = _NULLS | _BOOLS.keys()
_SPECIAL_FLOATS = {
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), "inf"),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-inf"),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "nan"),
}
_INT = pattern(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)\Z")
# yaml.v3 reads an integer as int64, else as uint64; a decimal number beyond these is a float.
_INT64 = range(-(1 << 63), 1 << 64)
_FLOAT = pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
# Words that a YAML 1.1 reader takes for booleans or merge keys, and what one takes for base-60 numbers or dates.
# Versions and addresses with two points or more are numbers to none.
_LOOKS_TYPED = pattern(
    r"(?![0-9]+(?:\.[0-9]+){2,}\Z)"
    r"(?:[yYnN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|=|<<|[-+.]_*|[-+.]?[0-9][0-9_:,.eExXoO+ -]*)\Z"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]"
)
_NOT_PRINTABLE = "\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff"
_SAFE_PLAIN = pattern(rf"[A-Za-z0-9_/.(^$+-][^{_NOT_PRINTABLE}:#,\[\]{{}}&*!|>'\"%@`?]*\Z")
_SAFE_IN_BLOCK = pattern(r"[A-Za-z0-9_/.][A-Za-z0-9_/.:@#+=~%?$() -]*\Z")
_ENDS_PLAIN = pattern(r":(?:\s|\Z)|\s#|\s\Z")
_MUST_ESCAPE = pattern(rf"(?![\t\n])[{_NOT_PRINTABLE}]")


def resolve(text: str, style: str, tag: str | None) -> Canonical:
    """The canonical form of a scalar.

    `style` is '' for plain scalars; quoted and block scalars are strings. An explicit core tag decides the type.
    """
    if tag is not None:
        short = tag.rsplit(":", 1)[-1]
        if short == "str" or tag == "!":
            return text
        if short in ("int", "float", "bool", "null"):
            value = resolve_plain(text)
            if short == "float" and type_of(value) == "int":
                return ("float", repr(float(str(value[1]))))
            return value if type_of(value) == short else (short, text)
        if short == "binary":
            return ("binary", "".join(text.split()))
    if style:
        return text
    return resolve_plain(text)


def resolve_plain(text: str) -> Canonical:
    """The canonical form of a plain scalar without a tag."""
    first = text[:1]
    if text in _NULLS:
        return ("null",)
    if text in _BOOLS:
        return ("bool", _BOOLS[text])
    if first in FIRST_OF_NUMBERS:
        if first in "123456789" and len(text) < 19 and text.isascii() and text.isdecimal():
            # Nearly all numbers.
            return ("int", int(text))
        if text in _SPECIAL_FLOATS:
            return ("float", _SPECIAL_FLOATS[text])
        # Go takes no underscores behind a leading point.
        digits = text.replace("_", "") if first != "." else text
        if _INT.match(digits) and (number := _integer(digits)) in _INT64:
            return ("int", number)
        # Go refuses a number that is too large for a float, so that it remains a string.
        if _FLOAT.match(digits) and not math.isinf(float(digits)):
            return ("float", repr(float(digits)))
    return text


def _integer(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    body = digits.lstrip("+-").lower()
    if body.startswith(("0x", "0b", "0o")):
        return sign * int(body, 0)
    if body.startswith("0"):
        return sign * int(body, 8)
    # Python refuses to convert thousands of digits; these are too many for 64 bits anyway.
    return sign * int(body[:40])


def type_of(canonical: Canonical) -> object:
    """The type of a value: the name of a core tag, for a string as well."""
    return "str" if type(canonical) is str else canonical[0]


def python_value(canonical: Canonical) -> object:
    """The Python value of a scalar's canonical form."""
    if type(canonical) is str:
        return canonical
    kind = canonical[0]
    if kind == "null":
        return None
    if kind == "float":
        return float(str(canonical[1]))
    return canonical[1]


def plain_is_safe(text: str, *, flow: bool) -> bool:
    """Whether a string may be unquoted and is read as this string by YAML 1.1 and 1.2 readers alike."""
    # These stop at the first character that is not safe.
    if not _SAFE_PLAIN.match(text) and (flow or not _SAFE_IN_BLOCK.match(text)):
        return False
    if type(resolve_plain(text)) is not str or _LOOKS_TYPED.match(text) or _ENDS_PLAIN.search(text):
        return False
    return not text.startswith(("---", "...", "- ")) and text != "-"


def quoted(text: str) -> str:
    """The string as a double-quoted scalar on one line."""
    out = text.replace("\\", "\\\\").replace('"', '\\"')
    if out.isprintable():
        # Nearly all texts: then there is nothing to escape.
        return f'"{out}"'
    out = out.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return '"' + _MUST_ESCAPE.sub(lambda m: f"\\u{ord(m.group()):04x}", out) + '"'


def scalar_text(value: object, *, flow: bool = False) -> str:
    """A Python scalar as YAML on one line: unquoted where that is safe, else in quotes that need no escapes."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    text = str(value)
    if plain_is_safe(text, flow=flow):
        return text
    # As kpt does. A flow collection may be JSON, which has double quotes only.
    has_double_quotes = not flow and '"' in text and "'" not in text and text.isprintable()
    return f"'{text}'" if has_double_quotes else quoted(text)


def _float_text(value: float) -> str:
    if value != value:
        return ".nan"
    if value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    # YAML 1.1 readers know a float by its point.
    mantissa, e, exponent = repr(value).partition("e")
    return mantissa + ("" if "." in mantissa else ".0") + e + exponent


def literal_is_safe(text: str) -> bool:
    """Whether a string is whole lines, or several, and may be written as a literal block without changing it."""
    # libyaml refuses a tab where it has yet to find out the indentation of a block.
    return "\n" in text and not _MUST_ESCAPE.search(text) and "\t" not in text[:1] and not text.isspace()
