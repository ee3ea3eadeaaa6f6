"""`krm-merge components`: the graph, plans, and plans carried out."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.documents import configured, edited_by
from krm_merge.cli.forges import components as component_forges
from krm_merge.cli.forges import local_pull_requests
from krm_merge.cli.git_diff import show_diff
from krm_merge.cli.show import as_json, opened_journal, say, show_results, summary
from krm_merge.components.draw.drawing import Drawing, focused
from krm_merge.components.draw.graphviz import GraphvizError, svg
from krm_merge.components.draw.page import page
from krm_merge.components.draw.text_forms import beyond_mermaid, dot, mermaid
from krm_merge.functions.plan_component_updates.drawing import drawing_of
from krm_merge.functions.plan_component_updates.function import plan_component_updates
from krm_merge.krm.resource_list import ResourceList
from krm_merge.krm.result import Results
from krm_merge.packages.files.directory import Directory, PackageError
from krm_merge.packages.files.tree import File
from krm_merge.packages.files.write import write_file
from krm_merge.text.document import written
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.values import from_value, to_value

_KIND = "PlanComponentUpdates"
_CONFIG = f"apiVersion: fn.kpt.dev/v1alpha1\nkind: {_KIND}\nmetadata: {{name: components}}\n"
_directory = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
_config = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A PlanComponentUpdates functionConfig; its mode does not count.",
)


@click.group("components")
def command() -> None:
    """Plan the updates of components that depend on each other, and carry plans out."""


command.add_command(component_forges.apply_command)
command.add_command(component_forges.observe_command)
command.add_command(component_forges.summary_command)
command.add_command(local_pull_requests.command)


@command.command("validate")
@_directory
@_config
@options.quiet
@options.form
def validate(directory: Path, config: Path | None, quiet: bool, form: str) -> None:
    """Check the graph of the Components in DIR: cycles, edges that do not count, names that nothing has."""
    _run(directory, config, "validate", write=False, with_diff=False, quiet=quiet, form=form)


@command.command("plan")
@_directory
@_config
@options.show_diff
@click.option("--dry-run", is_flag=True, help="Only report what would be planned.")
@options.quiet
@options.form
def plan_command(directory: Path, config: Path | None, with_diff: bool, dry_run: bool, quiet: bool, form: str) -> None:
    """Plan pull requests from the Components, builds and pull requests in DIR; the plans are written to DIR/plans."""
    _run(directory, config, "plan", write=not dry_run, with_diff=with_diff, quiet=quiet, form=form)


@command.command("configure")
@_directory
@_config
@options.show_diff
@click.option("--dry-run", is_flag=True, help="Only report what would change.")
@options.quiet
@options.form
def configure_command(
    directory: Path, config: Path | None, with_diff: bool, dry_run: bool, quiet: bool, form: str
) -> None:
    """Write into the Konflux resources in DIR what makes today's Konflux obey the graph."""
    _run(directory, config, "configure", write=not dry_run, with_diff=with_diff, quiet=quiet, form=form)


@command.command("simulate")
@_directory
@_config
@options.show_diff
@click.option("--dry-run", is_flag=True, help="Only report what would happen.")
@options.quiet
@options.form
def simulate_command(
    directory: Path, config: Path | None, with_diff: bool, dry_run: bool, quiet: bool, form: str
) -> None:
    """Plan, and play what follows as the specification says: snapshots, tests, candidates, releases."""
    _run(directory, config, "simulate", write=not dry_run, with_diff=with_diff, quiet=quiet, form=form)


@command.command("graph")
@_directory
@_config
@click.option(
    "--format",
    "form",
    type=click.Choice(["mermaid", "dot", "svg", "html"]),
    default="mermaid",
    show_default=True,
    help="Text for Mermaid or Graphviz, a picture by Graphviz, or a page to search and zoom in.",
)
@click.option("--focus", default="", metavar="NAME", help="Draw only what this Component reaches.")
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="With --focus: at most so many edges far.")
@options.output("The file to write, by default stdout.", default=component_forges.STDOUT)
def graph_command(directory: Path, config: Path | None, form: str, focus: str, depth: int | None, target: Path) -> None:
    """Draw the graph of the Components in DIR with their roles, groups and the pull requests that are waited for."""
    _check(directory)
    if depth and not focus:
        raise click.UsageError("--depth: it counts from a Component; name one with --focus")
    results = Results()
    drawing: Drawing | None = None

    def draw(resource_list: ResourceList) -> None:
        nonlocal drawing
        drawing = drawing_of(resource_list)

    edited_by(draw, directory, Directory(directory), _with_mode(config, "plan"), results)
    show_results(results, quiet=True)
    if drawing is not None:
        text = _drawn(_focused(drawing, focus, depth or 0), form)
        if target == component_forges.STDOUT:
            click.echo(text, nl=False)
        else:
            write_file(target, File(text.encode()))
    if results.errors:
        sys.exit(1)


def _focused(drawing: Drawing, name: str, depth: int) -> Drawing:
    try:
        return focused(drawing, name, depth) if name else drawing
    except LookupError as error:
        raise PackageError(f"--focus: {error.args[0]}") from None


def _drawn(drawing: Drawing, form: str) -> str:
    if form == "html":
        return page(drawing)
    if form == "dot":
        return dot(drawing)
    if form == "svg":
        try:
            return svg(dot(drawing))
        except GraphvizError as error:
            raise PackageError(str(error)) from None
    text = mermaid(drawing)
    if why := beyond_mermaid(drawing, text):
        click.echo(f"warning: {why}; cut a part out with --focus NAME --depth N, or take --format html", err=True)
    return text


def _run(
    directory: Path, config: Path | None, mode: str, *, write: bool, with_diff: bool, quiet: bool, form: str
) -> None:
    _check(directory)
    results = Results()
    with opened_journal(directory) as journal:
        tree = Directory(directory)
        changes = edited_by(plan_component_updates, directory, tree, _with_mode(config, mode), results)
        if with_diff and form == "text":
            show_diff(tree, changes)
        if write and not results.errors:
            journal.commit(changes, tree)
    refused = bool(results.errors)
    if form == "json":
        click.echo(as_json(tree, changes, results))
    else:
        show_results(results, quiet=quiet)
        if not quiet:
            say("refused; nothing was written" if refused else summary(tree, changes, results))
    if refused:
        sys.exit(1)


def _with_mode(config: Path | None, mode: str) -> str:
    """The functionConfig as YAML, with another mode."""
    value = to_value(configured(config, _KIND).function_config if config is not None else read(_CONFIG))
    assert isinstance(value, dict)
    data = value.get("data")
    if value.get("kind") == "ConfigMap" and isinstance(data, dict):
        value = {**value, "data": {**data, "mode": mode}}
    else:
        value = {**value, "mode": mode}
    root = from_value(value)
    assert isinstance(root, MappingNode)
    return written(root)


def _check(directory: Path) -> None:
    if not directory.is_dir():
        raise PackageError(f"{directory}: there is no such directory")
