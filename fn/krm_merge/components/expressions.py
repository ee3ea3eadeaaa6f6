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
    """An expression to which no condition can be added."""


_STRING_OR_COMMENT = re.compile(r"""//[^\n]*|(?P<quote>["'])(?:\\.|(?!(?P=quote))[^\\\n\r])*(?P<end>(?P=quote))?""")
_BRACKETS = {")": "(", "]": "[", "}": "{"}


def _check(text: str) -> None:
    """Checks that all brackets and quotes of an expression are closed in it, so that brackets around it hold it.

    Raises CelError.
    """
    opened: list[str] = []
    # A quote without an end stays.
    for character in _STRING_OR_COMMENT.sub(lambda match: "" if match["end"] else match["quote"] or "", text):
        if character in "([{":
            opened.append(character)
        elif character in "\"'" or (character in _BRACKETS and (not opened or opened.pop() != _BRACKETS[character])):
            raise CelError(f"{character} is unbalanced")
    if opened:
        raise CelError(f"{opened[-1]} is unbalanced")


_UPDATED = r'updatedComponentIs\("(?:[^"\\]|\\.)*"\)'
_OURS = re.compile(rf"(?:\((?P<theirs>.*?)\n?\) && \()?{_UPDATED}(?: \|\| {_UPDATED})*(?(theirs)\))", re.DOTALL)


def release_condition(theirs: str, names: Iterable[str]) -> str:
    """An expression that releases these Components if the existing expression, if any, holds too.

    Raises CelError where a bracket or quote of the existing expression is unbalanced.
    """
    ours = " || ".join(f"updatedComponentIs({json.dumps(name)})" for name in names)
    if not theirs:
        return ours
    _check(theirs)
    end = "\n" if "//" in theirs.rpartition("\n")[2] else ""  # a comment ends with its line
    return f"({theirs}{end}) && ({ours})"


def theirs_of(text: str) -> str:
    """The expression to which `release_condition` was added; the whole text if it has no such condition."""
    match = _OURS.fullmatch(text)
    if match is None:
        return text
    try:
        _check(match["theirs"] or "")
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
