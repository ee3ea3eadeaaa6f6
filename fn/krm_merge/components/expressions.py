"""Expressions of Konflux resources: which changes build a component, and what is released (C11).

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md.

Source: konflux-ci/integration-service, loader/loader.go (facts as of 2026-08).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

from krm_merge.errors import KrmMergeError


class CelError(KrmMergeError, ValueError):
    """An expression that cannot be read. `line` and `column` count from 1."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        self.line = text.count("\n", 0, position) + 1
        self.column = position - (text.rfind("\n", 0, position) + 1) + 1
        where = f"column {self.column}" if self.line == 1 else f"line {self.line}, column {self.column}"
        super().__init__(f"{problem} at {where}")


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


def tokens_of(text: str) -> list[re.Match[str]]:
    """The tokens of an expression. Raises CelError."""
    tokens: list[re.Match[str]] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CelError(text, position, f"cannot read {text[position]!r}")
        if match.lastgroup != "space":
            tokens.append(match)
        position = match.end()
    return tokens


_BRACKETS = {")": "(", "]": "[", "}": "{"}
_BINARY = frozenset(("&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "*", "/", "%", "?", ":", ".", ",", "in"))


def check(text: str) -> list[re.Match[str]]:
    """The tokens of an expression that conditions can be added to: its brackets match, and no operand is missing.

    Raises:
        CelError: A bracket or an operand is missing.
    """
    tokens = tokens_of(text)
    opened: list[re.Match[str]] = []
    before = ""
    for token in tokens:
        needs_operand = before in _BINARY or before in ("", "(", "[", "{", "!", "-")
        is_empty = before in ("(", "[", "{") and token[0] in _BRACKETS
        if needs_operand and (token[0] in _BINARY or token[0] in _BRACKETS) and not is_empty:
            raise CelError(text, token.start(), f"expected a value, found {token[0]!r}")
        if token[0] in _BRACKETS:
            if not opened or opened.pop()[0] != _BRACKETS[token[0]]:
                raise CelError(text, token.start(), f"this bracket closes nothing, {token[0]!r}")
        elif token[0] in _BRACKETS.values():
            opened.append(token)
        before = token[0]
    if opened:
        raise CelError(text, opened[-1].start(), f"the bracket {opened[-1][0]!r} is never closed, it opens")
    if not tokens or before in _BINARY or before in ("!", "-"):
        raise CelError(text, len(text.rstrip()), "expected a value, found the end")
    return tokens


_UPDATED = r'updatedComponentIs\("(?:[^"\\]|\\.)*"\)'
_OURS = re.compile(rf"(?:\((?P<theirs>.*?)\n?\) && \()?{_UPDATED}(?: \|\| {_UPDATED})*(?(theirs)\))", re.DOTALL)


def release_condition(theirs: str, names: Iterable[str]) -> str:
    """An expression that releases these Components if the existing expression, if any, holds too.

    Raises:
        CelError: The existing expression cannot be read.
    """
    ours = " || ".join(f"updatedComponentIs({json.dumps(name)})" for name in names)
    if not theirs:
        return ours
    end = "\n" if theirs[check(theirs)[-1].end() :].strip() else ""  # a comment ends with its line
    return f"({theirs}{end}) && ({ours})"


def theirs_of(text: str) -> str:
    """The expression to which `release_condition` was added; the whole text if it has no such condition."""
    match = _OURS.fullmatch(text)
    if match is None:
        return text
    try:
        check(match["theirs"] or "true")
    except CelError:
        return text
    return match["theirs"] or ""


TriggerEvent: TypeAlias = Literal["push", "pull_request"]


def expression(event: TriggerEvent, branch: str, component: str, context: str) -> str:
    """The expression by which Konflux builds a Component whose Dockerfile is in its directory.

    Source: konflux-ci/build-service internal/controller/component_build_controller_pipeline.go,
    generateCelExpressionForPipeline. Names are escaped, so that they match literally.
    """
    condition = f"event == {_literal(event)} && target_branch == {_literal(branch)}"
    if context in ("", "/", "./", "."):
        return condition
    directory = context if context.endswith("/") else f"{context}/"
    pipeline = f".tekton/{component}-{event.replace('_', '-')}.yaml"
    return f"{condition} && ( {_path_changed(f'{_glob_of(directory)}***')} || {_path_changed(_glob_of(pipeline))} )"


_ESCAPES_WRITTEN = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})
_GLOB_ESCAPES_WRITTEN = str.maketrans({character: f"\\{character}" for character in "\\*?[{"})


def _literal(text: str) -> str:
    return f'"{text.translate(_ESCAPES_WRITTEN)}"'


def _glob_of(path: str) -> str:
    return path.translate(_GLOB_ESCAPES_WRITTEN)


def _path_changed(glob: str) -> str:
    return f"{_literal(glob)}.pathChanged()"
