"""`krm-merge declare`: local changes as patches of the package's pipeline; `krm-merge why`: where values come from."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final

import click

from krm_merge.cli import options as common
from krm_merge.cli.commands.merge import refuse_uncommitted
from krm_merge.cli.commands.settings import chosen_program, program_options, render_command
from krm_merge.cli.output import (
    opened_package,
    package_to_look_at,
    print_json,
    say,
    show_diff,
    show_results,
    summary,
)
from krm_merge.cli.sides import FollowingPackage
from krm_merge.cli.terminal import fit, width_of
from krm_merge.krm import KPTFILE, Identity, covers, format_path, parse_path
from krm_merge.merge import shorten
from krm_merge.packages import KptfileText, PackageError
from krm_merge.safe_text import abridge, line
from krm_merge.text import Value
from krm_merge.usecases import (
    FieldOrigin,
    RenderedPackage,
    ValueSource,
    declare,
    field_origins,
    line_history,
    undeclare,
)

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class DeclareOptions:
    """Options of what is declared, and where."""

    resources: tuple[str, ...]
    path: str
    image: str | None
    program: str | None
    undo: bool
    dry_run: bool
    diff: bool
    allow_dirty: bool
    quiet: bool


@click.command("declare")
@click.argument("package", metavar="PKG", default=".", type=common.PATH)
@click.option(
    "--resource", "resources", metavar="[KIND/]NAME", multiple=True, help="Declare only this resource. Repeatable."
)
@click.option("--patch", "path", default="patches.yaml", show_default=True, help="The file in PKG for the patches.")
@program_options
@click.option("--undo", is_flag=True, help="Turn declared changes back into local edits, and remove the file.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@click.option("--diff", is_flag=True, help="Print the difference.")
@click.option("--allow-dirty", is_flag=True, help="Accept a package with uncommitted changes.")
@common.quiet
@common.options_as(DeclareOptions)
def declare_command(package: Path, options: DeclareOptions) -> None:
    """Turn the local changes in PKG into patches that the package's own pipeline applies.

    Each resource that differs from the fetched upstream version gets a patch in a PatchResources, and its file gets
    upstream's text back; a function at the end of the pipeline applies the patches at every render. Declared changes
    never conflict with a new version of upstream. Nothing is written unless the package then renders to its current
    values. Resources that only local has, files without resources, functionConfigs and comments stay as they are.

    \b
    Example:  krm-merge declare web --dry-run --diff
              krm-merge declare web && kpt fn render web
    """
    if options.undo and options.resources:
        raise click.UsageError("--undo undoes everything in the file; leave out --resource")
    with opened_package(package, only_looks=options.dry_run) as (journal, local):
        if not (options.dry_run or options.allow_dirty):
            refuse_uncommitted(package)
        program: dict[str, str] = {}
        if options.undo:
            done = undeclare(local, options.path)
        else:
            program = chosen_program(options.image, options.program)
            original = FollowingPackage(local, package).fetched()
            done = declare(local, original, options.path, program, partial(_selects, options.resources))
        if options.diff:
            show_diff(local, done.changes)
        show_results(done.results, quiet=options.quiet)
        if done.results.errors:
            raise click.exceptions.Exit(1)
        if not options.dry_run:
            journal.commit(done.changes, local)
    if options.quiet:
        return
    names = abridge(done.resources, _SHOWN)
    if options.undo:
        is_rendered = f"removed {options.path}: the files have what it declares already"
        say(f"edits of the files again, from {options.path}: {names}" if names else is_rendered, on_stdout=True)
    elif names:
        say(f"declared in {options.path}: {names}", on_stdout=True)
    else:
        chosen = "the resources of --resource have" if options.resources else "resources of upstream have"
        say(f"{chosen} no local changes", on_stdout=True)
        return
    numbers = summary(local, done.changes, done.results)
    say(f"{numbers}; nothing was changed: --dry-run" if options.dry_run else numbers, on_stdout=True)
    if not options.dry_run:
        if program:
            say("until it is rendered, the package has upstream's values", on_stdout=True)
        say(f"next: {render_command(package, program)}", on_stdout=True)


def _selects(names: tuple[str, ...], identity: Identity) -> bool:
    return not names or identity.name in names or f"{identity.kind}/{identity.name}" in names


@click.command("why")
@click.argument("package", metavar="PKG", type=common.PATH)
@click.argument("place", metavar="[PLACE]", default="")
@common.form
def why_command(package: Path, place: str, form: str) -> None:
    """Show where the values of the package in PKG come from.

    That is a version of upstream, a local commit, a function of the pipeline, or a choice in the MergePolicy.

    PLACE is a file in PKG, or a file and a field of its resources: dep.yaml:spec.replicas. Without it, the values that
    differ from upstream are listed.

    \b
    Example:  krm-merge why web
              krm-merge why web deployment.yaml:spec.replicas
    """
    local = package_to_look_at(package)
    file, colon, field = place.partition(":")
    if file and file not in local:
        raise PackageError(f"{package / file}: there is no such file")
    try:
        below = parse_path(field) if colon else ()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    kptfile = KptfileText(local[KPTFILE].data, str(package / KPTFILE)) if KPTFILE in local else None
    is_fetched = kptfile is not None and kptfile.upstream is not None and kptfile.lock is not None
    original = FollowingPackage(local, package).fetched() if is_fetched else {}
    own_version = RenderedPackage("local", local)
    fields_of_files = field_origins(own_version, original, line_history(package), lambda path: not file or path == file)
    origins = [origin for origin in fields_of_files if covers(below, origin.path)]
    unreadable = {path: why.reason for path, why in own_version.unreadable.items() if why.broken}
    if not origins and place:
        problem = unreadable.get(file, f"no resource in it has a field {field}")
        raise PackageError(f"{package / file}: {problem}")
    if form == "json":
        fields: list[Value] = [origin.to_value() for origin in origins]
        print_json({"package": str(package), "fields": fields})
        return
    version = kptfile.lock.ref if kptfile is not None and kptfile.lock is not None else ""
    _show_origins(origins if place else [o for o in origins if o.source != "upstream"], version)
    if not place:
        counts = Counter(origin.source for origin in origins)
        numbers = ", ".join(f"{counts[source]} {words}" for source, words in _COUNTED.items() if counts[source])
        say(f"{len(origins)} fields: {numbers}" if origins else "no fields", on_stdout=True)
        if unreadable:
            say(f"not valid YAML, so not listed: {abridge(list(unreadable), _SHOWN)}")


_COUNTED: Final[Mapping[ValueSource, str]] = {
    "upstream": "from upstream",
    "local": "edited locally",
    "function": "made by functions",
    "choice": "chosen in conflicts",
}


def _show_origins(origins: Sequence[FieldOrigin], version: str) -> None:
    width = width_of(sys.stdout)
    for heading, group in groupby(origins, lambda origin: f"{origin.file}: {origin.resource}"):
        click.secho(line(heading), bold=True)
        fields = [
            (f"{format_path(o.path)} = {shorten(json.dumps(o.value, ensure_ascii=False))}", _explanation(o, version))
            for o in group
        ]
        if len(fields) > 1 and len({explanation for _, explanation in fields}) == 1:
            # Most often a resource that was added.
            fields = [(f"{len(fields)} fields", fields[0][1])]
        for field, explanation in fields:
            click.echo(fit(line(f"  {field}: {explanation}"), width, 6))


def _explanation(origin: FieldOrigin, version: str) -> str:
    commit = origin.commit
    if origin.source == "function":
        return f"made by {origin.by}"
    if origin.source == "upstream":
        return f"upstream {version}"
    why = f"chosen in {origin.by}" if origin.source == "choice" else "local"
    if commit is None:
        return f"{why}, not committed"
    day = datetime.fromtimestamp(commit.time, UTC).date().isoformat()
    return f"{why}: {day}, {commit.author}, '{commit.subject}' ({commit.id[:7]})"
