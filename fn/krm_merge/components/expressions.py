"""Expressions of Konflux resources: which changes build a component, and what is released (C11).

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md.

Source: konflux-ci/integration-service, loader/loader.go (facts as of 2026-08).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

_UPDATED = r'updatedComponentIs\("(?:[^"\\]|\\.)*"\)'
_RELEASE = re.compile(rf"{_UPDATED}(?: \|\| {_UPDATED})*")


def release_condition(names: Iterable[str]) -> str:
    """An expression that releases these Components."""
    return " || ".join(f"updatedComponentIs({json.dumps(name)})" for name in names)


def is_release_condition(text: str) -> bool:
    """Whether it is an expression of `release_condition`, for whatever Components."""
    return _RELEASE.fullmatch(text) is not None


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
