"""The words of an expression: names, signs, and literals with what they stand for.

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


class CelError(ValueError):
    """An expression that cannot be read. `line` and `column` count from 1."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        self.line = text.count("\n", 0, position) + 1
        self.column = position - (text.rfind("\n", 0, position) + 1) + 1
        where = f"column {self.column}" if self.line == 1 else f"line {self.line}, column {self.column}"
        super().__init__(f"{problem} at {where}")


@dataclass(frozen=True, slots=True)
class Token:
    """A word of an expression: what it is, and where it begins and ends."""

    kind: str
    text: str
    start: int
    end: int


_TOKEN = re.compile(
    r"(?P<space>[ \t\n\f\r]+|//[^\n]*)"
    r"|(?P<string>[bB]?(?:"
    r'[rR](?:"""(?:(?!""").)*"""|\'\'\'(?:(?!\'\'\').)*\'\'\'|"[^"\n\r]*"|\'[^\'\n\r]*\')'
    r'|"""(?:(?!""")(?:\\.|[^\\]))*"""|\'\'\'(?:(?!\'\'\')(?:\\.|[^\\]))*\'\'\''
    r'|"(?:\\.|[^"\\\n\r])*"|\'(?:\\.|[^\'\\\n\r])*\'))'
    r"|(?P<float>[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<int>(?:0x[0-9a-fA-F]+|[0-9]+)[uU]?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|[<>+\-*/%!?:()\[\]{},.])",
    re.DOTALL,
)

_ESCAPE = re.compile(
    r"""\\(?:([abfnrtv\\?"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|.)""",
    re.DOTALL,
)

_SIMPLE_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def tokens_of(text: str) -> list[Token]:
    """The words of an expression. Raises CelError."""
    found: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CelError(text, position, f"cannot read {text[position]!r}")
        if match.lastgroup not in (None, "space"):
            found.append(Token(str(match.lastgroup), match[0], position, match.end()))
        position = match.end()
    return found


def string_of(text: str, token: Token) -> str | None:
    """The text of a literal, None for bytes."""
    written = token.text
    if written[0] in "bB":
        return None
    raw = written[0] in "rR"
    written = written[1:] if raw else written
    quotes = 3 if len(written) >= 6 and written.startswith((written[0] * 3,)) else 1
    inside = written[quotes:-quotes]
    if raw:
        return inside

    def unescaped(match: re.Match[str]) -> str:
        simple, byte, short, long, octal = match.groups()
        if simple:
            return _SIMPLE_ESCAPES.get(simple, simple)
        hexadecimal = byte or short or long
        number = int(hexadecimal, 16) if hexadecimal else int(octal, 8) if octal else None
        if number is None or number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            raise CelError(text, token.start, f"the escape {match[0]} means nothing in the text")
        return chr(number)

    return _ESCAPE.sub(unescaped, inside)


def integer_of(text: str) -> int | None:
    """The number that a literal stands for, None where it compares with no int."""
    # Unsigned numbers are of another type: they compare with no int.
    if text[-1] in "uU" or len(text) > 20:
        return None
    value = int(text, 16 if text.startswith("0x") else 10)
    return value if value < 2**63 else None
