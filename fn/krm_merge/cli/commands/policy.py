"""`krm-merge policy`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from krm_merge.checks.package import place_of, policy_problems
from krm_merge.cli import options
from krm_merge.cli.output import errors_as_json, opened_journal
from krm_merge.krm.fieldpath import format_path
from krm_merge.merge.decisions.resolution import Resolution
from krm_merge.packages.files.tree import Directory, PackageError, RefusedError, Tree
from krm_merge.packages.git import GitRepositories
from krm_merge.packages.update import RememberedRepositories
from krm_merge.policy import KIND, PackagePolicy, PolicyError, find_policy, prune_policy, stale_resolutions
from krm_merge.text.reading.values import Value, to_value
from krm_merge.usecases import Mergeable, MergeChoices, MergeSides, PackageUpdate, merge_sides

_PACKAGE = click.argument("package", metavar="[PKG]", default=".", type=click.Path(path_type=Path))


@click.group("policy")
def policy_command() -> None:
    """Show, check and tidy up the MergePolicy of a package: how it wants its conflicts settled."""


@policy_command.command("show")
@_PACKAGE
@options.form
def show(package: Path, form: str) -> None:
    """Print the policy of the package PKG: who wins, the rules, what is hidden, and the choices on conflicts."""
    with errors_as_json(form, str(package)):
        policy = _policy(package)[1]
    if form == "json":
        value = to_value(policy.root) if policy.root is not None else {}
        click.echo(json.dumps({"file": policy.file, "policy": value}, indent=2, default=str))
        return
    if policy.root is None:
        click.echo(
            f"{package} has no {KIND}: conflicts that --on-conflict and --rules leave open stop update and merge"
        )
        return
    winner = policy.on_conflict
    others = f"are won by {winner}" if winner in ("upstream", "local") else "that nothing here settles stay open"
    click.echo(f"{policy.file}: conflicts {others}")
    for rule in policy.rules:
        sides = {"onConflict": rule.on_conflict, "onDelete": rule.on_delete}
        about = [part for part in (rule.kind, rule.namespace, rule.name) if part]
        about += [format_path(rule.path)] if rule.path is not None else []
        wins = ", ".join(f"{name}: {value}" for name, value in sides.items() if value is not None)
        click.echo(f"rule        {' '.join(about) or 'everything'}: {wins}")
    for redaction in policy.redactions:
        named = [part for part in (redaction.kind, redaction.namespace, redaction.name) if part]
        named += [format_path(redaction.path)] if redaction.path is not None else []
        click.echo(f"redact      {' '.join([*named, *([redaction.field] if redaction.field is not None else [])])}")
    for resolution in policy.resolutions.all:
        click.echo(f"resolution  {place_of(resolution)}: {resolution.choice}")


@policy_command.command("check")
@_PACKAGE
@options.form
def check(package: Path, form: str) -> None:
    """Look for what is wrong in the policy of PKG: fields, rules that match nothing, choices for what is not there.

    The exit code is 1 where something is found.
    """
    try:
        with errors_as_json(form, str(package)):
            tree, policy = _policy(package)
    except PolicyError as error:
        raise RefusedError(str(error)) from None
    problems = [f"{problem.file}: {problem.message}" for problem in policy_problems(tree, policy)]
    if form == "json":
        click.echo(json.dumps({"file": policy.file, "problems": problems}, indent=2))
    else:
        for problem in problems:
            click.echo(problem)
        if not problems:
            message = f"{policy.file} is right" if policy.root is not None else f"{package} has no {KIND}"
            click.echo(message)
    if problems:
        sys.exit(1)


@policy_command.command("prune")
@click.argument("package", metavar="[PKG[@REF]]", default=".")
@click.option("--original", type=click.Path(path_type=Path, exists=True), help="A directory, with --upstream.")
@click.option("--upstream", type=click.Path(path_type=Path, exists=True), help="A directory, with --original.")
@click.option("--dry-run", is_flag=True, help="Say what would be dropped, change nothing.")
@options.form
def prune(package: str, original: Path | None, upstream: Path | None, dry_run: bool, form: str) -> None:
    """Drop the choices of PKG that fit nowhere when it takes the version REF of its upstream.

    REF defaults to the ref of its Kptfile. Two directories can replace the versions of upstream.
    """
    if (original is None) != (upstream is None):
        raise click.UsageError("give --original and --upstream, or neither")
    name, ref = (package, "") if "@" not in package or Path(package).is_dir() else package.rsplit("@", 1)
    place = Path(name or ".")
    with errors_as_json(form, str(place)):
        tree, policy = _policy(place)
    with errors_as_json(form, str(place)), opened_journal(place) as journal:
        choices = MergeChoices.of(None, "smart", None).obeying(policy)
        dropped: list[Resolution] = []
        if policy.resolutions.all:
            sides: Mergeable
            if original is not None and upstream is not None:
                sides = MergeSides(Directory(original), Directory(upstream), tree)
            else:
                sides = PackageUpdate(tree, RememberedRepositories(GitRepositories()), str(place), ref or None)
            dropped = stale_resolutions(policy, merge_sides(sides, choices).decided)
        if dropped and not dry_run:
            journal.commit({policy.file: prune_policy(tree, policy, dropped)}, tree)
    if form == "json":
        click.echo(
            json.dumps({"file": policy.file, "dropped": [_as_value(resolution) for resolution in dropped]}, indent=2)
        )
        return
    for resolution in dropped:
        click.echo(f"{'would drop' if dry_run else 'dropped'}  {place_of(resolution)}: {resolution.choice}")
    if not dropped:
        click.echo("every choice fits" if policy.resolutions.all else "there are no choices")


def _policy(package: Path) -> tuple[Tree, PackagePolicy]:
    if not package.is_dir():
        raise PackageError(f"{package}: there is no such directory")
    tree = Directory(package)
    return tree, find_policy(tree)


def _as_value(resolution: Resolution) -> Mapping[str, Value]:
    return {
        "place": resolution.place,
        "path": format_path(resolution.path),
        "nature": resolution.nature,
        "fingerprint": resolution.fingerprint,
        "choice": resolution.choice,
    }
