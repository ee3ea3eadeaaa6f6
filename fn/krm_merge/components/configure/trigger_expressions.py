"""Expressions of Pipelines as Code: written as Konflux writes them, and guarded against loops."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from krm_merge.components.configure.cel_tokens import CelToken, check

TriggerEvent: TypeAlias = Literal["push", "pull_request"]


def expression(
    event: TriggerEvent,
    branch: str,
    component: str,
    context: str,
    dockerfile: str = "",
    dockerfile_in_context: bool = True,
) -> str:
    """The expression by which Konflux builds a Component.

    Source: konflux-ci/build-service internal/controller/component_build_controller_pipeline.go,
    generateCelExpressionForPipeline. Names are escaped, so that they match literally.
    """
    condition = f"event == {_literal(event)} && target_branch == {_literal(branch)}"
    if context in ("", "/", "./", "."):
        return condition
    directory = context if context.endswith("/") else f"{context}/"
    pipeline = f".tekton/{component}-{event.replace('_', '-')}.yaml"
    changed = f"{_changed(_literal(_glob_of(directory) + '***'))} || {_path_changed(pipeline)} "
    if dockerfile and "://" not in dockerfile and not dockerfile_in_context:
        # Pipelines as Code matches no path that starts with a slash.
        changed += f"|| {_path_changed(dockerfile.removeprefix('/'))} "
    return f"{condition} && ( {changed})"


def guarded(expression: str, files: Sequence[str], patterns: Sequence[str] = ()) -> str:
    """The same expression, but false for events that change only these files. An existing guard is replaced.

    `patterns` are regular expressions of RE2 for more of the files. Without both it has no guard. Events that
    change no file at all are left alone: an empty commit asks for a build.

    Raises:
        CelError: The expression cannot be read.
    """
    text = _unguarded(expression)
    tests = [f"nudged.matches({_literal(pattern)})" for pattern in sorted(set(patterns))]
    if files:
        tests.insert(0, f"nudged in [{', '.join(_literal(file) for file in sorted(set(files)))}]")
    if not tests:
        return text
    guard = f"( files.all.size() == 0 || files.all.exists(nudged, !({' || '.join(tests)})) )"
    tokens = check(text)
    end = "\n" if text[tokens[-1].end :].strip() else " "  # a comment ends with its line
    conjunction = _conjuncts(tokens) is not None
    return f"{text}{end}&& {guard}" if conjunction else f"( {text}{end}) && {guard}"


_ESCAPES_WRITTEN = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})
_GLOB_ESCAPES_WRITTEN = str.maketrans({character: f"\\{character}" for character in "\\*?[{"})


def _literal(text: str) -> str:
    return f'"{text.translate(_ESCAPES_WRITTEN)}"'


def _glob_of(path: str) -> str:
    return path.translate(_GLOB_ESCAPES_WRITTEN)


def _path_changed(path: str) -> str:
    return _changed(_literal(_glob_of(path)))


def _changed(literal: str) -> str:
    return f"{literal}.pathChanged()"


_TEXT = r'"(?:[^"\\]|\\.)*"'
_TEST = rf"nudged(?:\s+in\s+\[(?:{_TEXT}(?:,\s*)?)*\]|\.matches\({_TEXT}\))"
_GUARD = re.compile(
    r"\(\s*files\.all\.size\(\)\s*==\s*0\s*\|\|"
    rf"\s*files\.all\.exists\(nudged,\s*!\({_TEST}(?:\s*\|\|\s*{_TEST})*\)\)\s*\)"
)


def _unguarded(text: str) -> str:
    while True:
        tokens = check(text)
        conjuncts = _conjuncts(tokens) or []
        found = next((i for i, one in enumerate(conjuncts) if _GUARD.fullmatch(text, one.start, one.end)), None)
        if found is None:
            return text.rstrip()
        if len(conjuncts) == 1:
            return "true"
        if found == 0:
            text = text[: conjuncts[0].start] + text[conjuncts[1].start :]
        else:
            # Keep line ends: a comment may precede them.
            text = text[: conjuncts[found].operator].rstrip(" \t") + text[conjuncts[found].end :]


@dataclass(frozen=True, slots=True)
class _Conjunct:
    """The position of an operand of the outermost &&, and of the operator before it."""

    operator: int
    start: int
    end: int


def _conjuncts(tokens: Sequence[CelToken]) -> list[_Conjunct] | None:
    """The operands of the outermost &&, or the only one; None if an operator outside of them binds weaker."""
    found: list[_Conjunct] = []
    depth, operator, start, end = 0, 0, tokens[0].start, 0
    for token in tokens:
        if depth == 0 and token.text in ("||", "?"):
            return None
        if depth == 0 and token.text == "&&":
            found.append(_Conjunct(operator, start, end))
            operator, start = token.start, -1
            continue
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        start = token.start if start < 0 else start
        end = token.end
    return [*found, _Conjunct(operator, start, end)]
