"""Tokens of an expression, and whether it can be put in brackets; expressions are not evaluated (C11).

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from krm_merge.errors import KrmMergeError


class CelError(KrmMergeError, ValueError):
    """An expression that cannot be read. `line` and `column` count from 1."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        self.line = text.count("\n", 0, position) + 1
        self.column = position - (text.rfind("\n", 0, position) + 1) + 1
        where = f"column {self.column}" if self.line == 1 else f"line {self.line}, column {self.column}"
        super().__init__(f"{problem} at {where}")


@dataclass(frozen=True, slots=True)
class CelToken:
    """A token of an expression, with its kind and its position."""

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


def tokens_of(text: str) -> list[CelToken]:
    """The tokens of an expression. Raises CelError."""
    found: list[CelToken] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CelError(text, position, f"cannot read {text[position]!r}")
        if match.lastgroup not in (None, "space"):
            found.append(CelToken(str(match.lastgroup), match[0], position, match.end()))
        position = match.end()
    return found


_BRACKETS = {")": "(", "]": "[", "}": "{"}
_BINARY = frozenset(("&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "*", "/", "%", "?", ":", ".", ",", "in"))


def check(text: str) -> list[CelToken]:
    """The tokens of an expression that conditions can be added to: its brackets match, and no operand is missing.

    Raises:
        CelError: A bracket or an operand is missing.
    """
    tokens = tokens_of(text)
    opened: list[CelToken] = []
    before = ""
    for token in tokens:
        needs_operand = before in _BINARY or before in ("", "(", "[", "{", "!", "-")
        is_empty = before in ("(", "[", "{") and token.text in _BRACKETS
        if needs_operand and (token.text in _BINARY or token.text in _BRACKETS) and not is_empty:
            raise CelError(text, token.start, f"expected a value, found {token.text!r}")
        if token.text in _BRACKETS:
            if not opened or opened.pop().text != _BRACKETS[token.text]:
                raise CelError(text, token.start, f"this bracket closes nothing, {token.text!r}")
        elif token.text in _BRACKETS.values():
            opened.append(token)
        before = token.text
    if opened:
        raise CelError(text, opened[-1].start, f"the bracket {opened[-1].text!r} is never closed, it opens")
    if not tokens or before in _BINARY or before in ("!", "-"):
        raise CelError(text, len(text.rstrip()), "expected a value, found the end")
    return tokens
