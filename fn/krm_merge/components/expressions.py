"""Expressions of Konflux resources: which changes build a component, which files they edit, what is released (C11).

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md.

Their globs are those of `digest.files`: `*` matches within a name, `**` any directories, and a glob that ends in a name
without wildcards matches a directory, too.

Source: konflux-ci/integration-service, loader/loader.go (facts as of 2026-08).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal, TypeAlias

from krm_merge.components.searched_files import CONTENT, DEFAULT_FILES, WILDCARDS, rests_of
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


_LITERALS = {".": "[.]", **{character: f"\\{character}" for character in "\\+()|{}^$*?[]"}}
_PIECE = re.compile(
    r"(?P<stars>\*+)|(?P<any>\?)|\[(?P<one>[^!/])\]"
    r"|\[(?P<not>!?)(?P<class>(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[A-Za-z0-9_.])+)\]"
    r"|(?P<text>[^*?\[])",
    re.DOTALL,
)


DEFAULT_NUDGED: Final = (".*Dockerfile.*", ".*.yaml", ".*Containerfile.*")
"""The files that build-service edits without `build-nudge-files`, as regular expressions for whole paths."""


def below(glob: str, directory: str) -> list[str]:
    """Globs of the files in a normalised directory that a glob matches; empty if it matches none there."""
    outer = [] if directory == "." else directory.split("/")
    escaped = [WILDCARDS.sub(r"[\g<0>]", name) for name in outer]
    return sorted("/".join([*escaped, *rest]) for rest in rests_of(glob, outer) if rest)


def is_file(glob: str) -> bool:
    """Whether a glob is the path of a file: without wildcards, and with a name that directories do not have."""
    name = glob.rpartition("/")[2]
    return not WILDCARDS.search(glob) and any(fnmatchcase(name, usual) for usual in DEFAULT_FILES)


def regular_expression(glob: str) -> str | None:
    """A glob in the syntax of RE2; None if its bracket expression is not supported."""
    names = glob.split("/")
    with_content = names[-1] == CONTENT or not WILDCARDS.search(names[-1])
    while names and names[-1] == CONTENT:
        names.pop()
    written: list[str] = []
    for name in names:
        text = "(?:[^/]+/)*" if name == CONTENT else _segment_pattern(name)
        if text is None:
            return None
        written.append(text)
    end = "(?:/|$)" if with_content else "$"
    pattern = f"^{''.join(written).removesuffix('/')}{end}" if written else "^"
    try:
        re.compile(pattern)  # Python and RE2 refuse the same: reversed ranges
    except re.error:
        return None
    return pattern


def nudge_file_pattern(glob: str) -> str | None:
    """A glob for `build-nudge-files`, whose entries end at commas; None if it cannot be expressed there."""
    pattern = f"^{_escape(glob)}$" if is_file(glob) else regular_expression(glob)
    return pattern.replace(",", r"\x2c") if pattern is not None else None


def default_patterns(directory: str) -> list[str]:
    """The files that build-service edits in a normalised directory by default."""
    return [f"^{_escape(directory)}/{pattern}" for pattern in DEFAULT_NUDGED]


def _escape(text: str) -> str:
    return "".join(_LITERALS.get(character, character) for character in text)


def _segment_pattern(name: str) -> str | None:
    """The name of a file or directory, and the slash behind it."""
    pieces = list(_PIECE.finditer(name))
    if "".join(piece[0] for piece in pieces) != name:
        return None
    return "".join(map(_piece, pieces)) + "/"


def _piece(piece: re.Match[str]) -> str:
    if piece["stars"]:
        return "[^/]*"
    if piece["any"]:
        return "[^/]"
    if characters := piece["class"]:
        return f"[^{characters}/]" if piece["not"] else f"[{characters}]"
    # Avoids backslashes, which the string literals of expressions would double.
    return _LITERALS.get(character := piece["one"] or piece["text"], character)


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


def add_guard(expression: str, files: Sequence[str], patterns: Sequence[str] = ()) -> str:
    """The same expression, but false for events that change only these files. An existing guard is replaced.

    `patterns` are regular expressions of RE2 for more of the files. Without both it has no guard. Events that
    change no file at all are left alone: an empty commit asks for a build.

    Raises:
        CelError: The expression cannot be read.
    """
    text = _remove_guard(expression)
    tests = [f"nudged.matches({_literal(pattern)})" for pattern in sorted(set(patterns))]
    if files:
        tests.insert(0, f"nudged in [{', '.join(_literal(file) for file in sorted(set(files)))}]")
    if not tests:
        return text
    guard = f"( files.all.size() == 0 || files.all.exists(nudged, !({' || '.join(tests)})) )"
    tokens = check(text)
    end = "\n" if text[tokens[-1].end() :].strip() else " "  # a comment ends with its line
    conjunction = _conjuncts(tokens) is not None
    return f"{text}{end}&& {guard}" if conjunction else f"( {text}{end}) && {guard}"


_ESCAPES_WRITTEN = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})
_GLOB_ESCAPES_WRITTEN = str.maketrans({character: f"\\{character}" for character in "\\*?[{"})


def _literal(text: str) -> str:
    return f'"{text.translate(_ESCAPES_WRITTEN)}"'


def _glob_of(path: str) -> str:
    return path.translate(_GLOB_ESCAPES_WRITTEN)


def _path_changed(glob: str) -> str:
    return f"{_literal(glob)}.pathChanged()"


_TEXT = r'"(?:[^"\\]|\\.)*"'
_TEST = rf"nudged(?:\s+in\s+\[(?:{_TEXT}(?:,\s*)?)*\]|\.matches\({_TEXT}\))"
_GUARD = re.compile(
    r"\(\s*files\.all\.size\(\)\s*==\s*0\s*\|\|"
    rf"\s*files\.all\.exists\(nudged,\s*!\({_TEST}(?:\s*\|\|\s*{_TEST})*\)\)\s*\)"
)


def _remove_guard(text: str) -> str:
    while True:
        tokens = check(text)
        conjuncts = _conjuncts(tokens) or []
        index = next((i for i, part in enumerate(conjuncts) if _GUARD.fullmatch(text, part.start, part.end)), None)
        if index is None:
            return text.rstrip()
        if len(conjuncts) == 1:
            return "true"
        if index == 0:
            text = text[: conjuncts[0].start] + text[conjuncts[1].start :]
        else:
            # Keep line ends: a comment may precede them.
            text = text[: conjuncts[index].operator].rstrip(" \t") + text[conjuncts[index].end :]


@dataclass(frozen=True, slots=True)
class _Conjunct:
    """The position of an operand of the outermost &&, and of the operator before it."""

    operator: int
    start: int
    end: int


def _conjuncts(tokens: Sequence[re.Match[str]]) -> list[_Conjunct] | None:
    """The operands of the outermost &&, or the only one; None if an operator outside of them binds weaker."""
    conjuncts: list[_Conjunct] = []
    depth, operator, start, end = 0, 0, tokens[0].start(), 0
    for token in tokens:
        if depth == 0 and token[0] in ("||", "?"):
            return None
        if depth == 0 and token[0] == "&&":
            conjuncts.append(_Conjunct(operator, start, end))
            operator, start = token.start(), -1
            continue
        depth += (token[0] in ("(", "[", "{")) - (token[0] in (")", "]", "}"))
        start = token.start() if start < 0 else start
        end = token.end()
    return [*conjuncts, _Conjunct(operator, start, end)]
