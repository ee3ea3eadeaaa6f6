"""Choices on the disk as they are made, beside the package: a session that is killed loses none."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar

from krm_merge.errors import KrmMergeError
from krm_merge.krm.result import ResourceRef
from krm_merge.packages.files.directory import PackageError, reason
from krm_merge.policy import KIND, RecordedChoice, parse_policy, rule_value
from krm_merge.resolve.choices import ChoiceStep
from krm_merge.startup import replace as replaced
from krm_merge.text.reading.values import Value

Step = TypeVar("Step")

_HEAD: dict[str, Value] = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": KIND}


class StepForm(Protocol[Step]):
    """How the steps of a session are written as plain values, and read again."""

    def to_value(self, step: Step) -> Mapping[str, Value]:
        """A step as a plain value."""
        ...

    def from_value(self, value: Mapping[str, Value]) -> Step:
        """The step of a plain value. Raises KrmMergeError, ValueError, TypeError or LookupError."""
        ...


def kept_beside(place: Path) -> Path:
    """Where the choices on a package or file are kept; no command takes it for a part of a package around it."""
    resolved = place.resolve()
    return resolved.parent / f".{resolved.name}.choices.krm-merge"


@dataclass(slots=True)
class Kept(Generic[Step]):
    """A file of choices: one line for each thing that was done. `place` None keeps nothing.

    `steps` are those that hold when the file is read.
    """

    place: Path | None
    form: StepForm[Step]
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Reads the file, if there is one. Raises PackageError where it cannot be read, or nothing can be kept."""
        if self.place is None:
            return
        try:
            lines = self.place.read_text(encoding="utf-8").split("\n") if self.place.exists() else []
            if not os.access(self.place.parent, os.W_OK):
                raise PermissionError(13, f"{self.place.parent} cannot be written to, so choices cannot be kept")
        except (OSError, UnicodeDecodeError) as error:
            raise PackageError(f"{self.place}: {reason(error) if isinstance(error, OSError) else error}") from None
        undone: list[Step] = []
        # What was being written when the program was killed has no end.
        for number, line in enumerate(lines[:-1], 1):
            try:
                self._do_again(json.loads(line), undone)
            except (ValueError, TypeError, LookupError, KrmMergeError) as error:
                why = f"line {number} cannot be read ({error}); remove the file to begin again"
                raise PackageError(f"{self.place}: {why}") from None

    def add(self, event: Step | Literal["undo", "redo"]) -> None:
        """Writes down what was done. Raises PackageError."""
        if self.place is None:
            return
        line = json.dumps(event if isinstance(event, str) else self.form.to_value(event)) + "\n"
        try:
            handle = os.open(self.place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(handle, line.encode())
            finally:
                os.close(handle)
        except OSError as error:
            raise PackageError(f"{self.place}: {reason(error)}; the choice is not kept") from None

    def remove(self) -> None:
        """Takes the file away: all of it is written where it belongs, or nothing holds."""
        if self.place is not None:
            self.place.unlink(missing_ok=True)

    def _do_again(self, event: Value, undone: list[Step]) -> None:
        if event == "undo":
            undone.append(self.steps.pop())
        elif event == "redo":
            self.steps.append(undone.pop())
        elif isinstance(event, Mapping):
            self.steps.append(self.form.from_value(event))
            undone.clear()
        else:
            raise ValueError("a choice, undo or redo is expected")


@dataclass(frozen=True, slots=True)
class PolicySteps:
    """Steps as a MergePolicy has choices; `policy_file` is where they are going to be written."""

    policy_file: str

    def to_value(self, step: ChoiceStep) -> Mapping[str, Value]:
        """The resolutions and rules of a step."""
        return {
            "resolutions": [one.to_value() for one in step.made],
            "rules": [rule_value(rule) for rule in step.rules],
        }

    def from_value(self, value: Mapping[str, Value]) -> ChoiceStep:
        """The step again. Raises PolicyError where it is no part of a MergePolicy."""
        policy = parse_policy({**_HEAD, **value}, self.policy_file)
        written = value.get("resolutions")
        assert isinstance(written, list)
        made = tuple(
            RecordedChoice(replaced(resolution, place=self.policy_file, number=-1), _resource(one))
            for resolution, one in zip(policy.resolutions.all, written, strict=True)
        )
        return ChoiceStep(made, tuple(replaced(rule, place=self.policy_file) for rule in policy.rules))


def _resource(written: Value) -> ResourceRef | None:
    about = written.get("resource") if isinstance(written, Mapping) else None
    if not isinstance(about, Mapping):
        return None
    return ResourceRef(*(str(about[name]) for name in ("apiVersion", "kind", "name", "namespace")))
