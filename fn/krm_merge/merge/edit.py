"""Carries the decisions on one resource out, and looks at what came of it (rules K3, G)."""

from __future__ import annotations

from krm_merge.krm.fieldpath import format_path
from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Results
from krm_merge.merge.decision import apply
from krm_merge.merge.kptfile import faults
from krm_merge.merge.member import KPTFILE, Outcome
from krm_merge.text.nodes import Mapping, TextError


def edit(resource: Resource, outcome: Outcome, results: Results) -> None:
    """Edits local's resource as decided; faults and references that lead nowhere are reported."""
    if outcome.member.subject.kind != KPTFILE and not any(decision.edits for decision in outcome.decisions):
        return
    apply(outcome.decisions, resource.editor)
    file = outcome.member.file
    try:
        merged = resource.merged()
    except TextError as error:
        results.error(f"{file}: {error}", file=file)
        return
    (_check_kptfile if outcome.member.subject.kind == KPTFILE else _check_references)(
        resource, outcome, merged, results
    )


def _check_references(resource: Resource, outcome: Outcome, merged: Mapping, results: Results) -> None:
    # A Kptfile alone is merged at every render: it shall not pay for this import.
    from krm_merge.merge.references import dangling

    known = {text for root in outcome.roots for text in dangling(root)}
    for text, at in dangling(merged).items():
        if text not in known:
            path = format_path(at)
            results.warning(
                f"{path}: {text}",
                resource=resource.ref,
                file=outcome.member.file,
                path=path,
                tags={"rule": "G", "side": "both"},
            )


def _check_kptfile(resource: Resource, outcome: Outcome, merged: Mapping, results: Results) -> None:
    # K3: what kpt would refuse; ours are errors, those that an input brought are warnings.
    inherited = {fault.identity for root in outcome.roots for fault in faults(root)}
    for fault in faults(merged):
        path = format_path(fault.path)
        report = results.warning if fault.identity in inherited else results.error
        report(
            f"{path}: the function {fault.function} {fault.kind}; kpt refuses such a Kptfile",
            resource=resource.ref,
            file=outcome.member.file,
            path=path,
            tags={"rule": "K3", "side": "both"},
        )
