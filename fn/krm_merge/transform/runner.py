"""Runs plugins on a resource and settles their conflicts; the files of crane's stages.

Source: crane's internal/file, 2022.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import dirname, join
from typing import Literal

from krm_merge.limits import CopiedInAll, Copies
from krm_merge.text import KeysOf, Object, copied
from krm_merge.transform.engine.locations import ABSENT, Tracked
from krm_merge.transform.engine.settle import (
    Ignored,
    Proposal,
    RefusedOperationsError,
    Settlement,
    settle,
    with_values,
)
from krm_merge.transform.plugins.process import Secrets
from krm_merge.transform.protocol import (
    Options,
    Plugin,
    PluginError,
    PluginOperation,
    Response,
    flaw_of_value,
)


def crane_file(path: str, prefix: Literal["transform-", ".wh.", "ignored-"]) -> str:
    """The file for that of a resource: its JSON patch, a whiteout, or ignored changes."""
    return join(dirname(path), prefix + path[len(dirname(path)) :].lstrip("/"))


@dataclass(frozen=True, slots=True)
class Whiteout:
    """A plugin that removes the resource, and its reason if it gives one."""

    plugin: str
    reason: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A plugin that failed."""

    plugin: str
    problem: str


@dataclass(slots=True)
class RunOutcome:
    """The result for one resource. With `failures`, nothing is settled; with `whiteouts`, no operation is accepted."""

    settlement: Settlement
    whiteouts: list[Whiteout] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Runner:
    """Plugins in their order of declaration, and the user's priorities: lower numbers win.

    `options` are passed to every plugin. Plugins that share a name share its priority; the one that is declared earlier
    is stronger (T11).
    """

    plugins: Sequence[Plugin]
    priorities: Mapping[str, int] = field(default_factory=dict)
    options: Options = field(default_factory=dict)
    _secrets: Secrets = field(default_factory=Secrets, init=False, repr=False, compare=False)

    def run(self, resource: Object, keys_of: KeysOf = lambda _: (), copied: CopiedInAll | None = None) -> RunOutcome:
        """Runs all plugins on a resource, each on its own copy of the original (T1).

        `keys_of` gives the fields that identify the elements of a list; without them, indices do. `copied` counts what
        operations copy in several resources. Raises KrmMergeError if that is too much.
        """
        self._secrets.add(resource)
        outcome = RunOutcome(Settlement(resource))
        proposals: list[Proposal] = []
        for plugin in self.plugins:
            try:
                response = self._response(plugin, resource)
            except PluginError as error:
                outcome.failures.append(Failure(plugin.name, self._secrets.hidden_in(str(error))))
                continue
            if response.is_whiteout:
                outcome.whiteouts.append(Whiteout(plugin.name, response.reason))
            else:
                proposals.append(Proposal(plugin.name, self.priorities.get(plugin.name), response.patches))
        if outcome.failures:
            return outcome
        copies = Copies(copied)
        try:
            if outcome.whiteouts:
                # Priorities do not matter: any whiteout wins (T5).
                winner = outcome.whiteouts[0].plugin
                outcome.settlement.ignored += _of_whiteout(resource, proposals, winner, keys_of)
            else:
                outcome.settlement = settle(resource, proposals, keys_of, copies)
        except RefusedOperationsError as error:
            outcome.failures.append(Failure(error.plugin, str(error)))
        except RecursionError:
            names = ", ".join(dict.fromkeys(proposal.plugin for proposal in proposals if proposal.patches))
            outcome.failures.append(Failure(names, "the values are nested too deeply"))
        outcome.failures += _too_deep(outcome.settlement, resource)
        return outcome

    def _response(self, plugin: Plugin, resource: Object) -> Response:
        argument = copied(resource)
        assert isinstance(argument, dict)
        try:
            # T1: each has a copy of its own, of the options too.
            return plugin.run(argument, dict(self.options))
        except PluginError:
            raise
        except (Exception, SystemExit) as error:
            # Third-party code: report any exception as an error of the plugin.
            raise PluginError(f"{type(error).__name__}: {error}") from error


def _too_deep(settlement: Settlement, resource: Object) -> Iterator[Failure]:
    """A failure if copies and moves nest values too deeply; other operations are checked when they are read."""
    operations = (done for done in settlement.operations if done.operation.kind in ("copy", "move"))
    names = ", ".join(dict.fromkeys(done.plugin for done in operations))
    if names and (flaw := flaw_of_value(settlement.value)) and not flaw_of_value(resource):
        yield Failure(names, f"makes a resource that {flaw}")


def _of_whiteout(resource: Object, proposals: Sequence[Proposal], winner: str, keys_of: KeysOf) -> Iterator[Ignored]:
    """The changes that plugins proposed for a resource that another one whites out; they are not carried out."""
    original = Tracked(resource, keys_of)
    for proposal in proposals:
        for operation in (operation for patch in proposal.patches for operation in patch.operations):
            at = original.whereabouts(operation.path)
            is_nothing = operation.kind == "remove" and original.at(at) is ABSENT
            if operation.kind != "test" and not is_nothing:
                ignored = Ignored(PluginOperation(proposal.plugin, operation), winner, "whiteout")
                yield with_values(ignored, at, original, original)
