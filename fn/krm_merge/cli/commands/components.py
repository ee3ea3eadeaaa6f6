"""`krm-merge components`: the graph, plans, and plans carried out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from krm_merge.cli import options as common
from krm_merge.cli.documents import (
    Documents,
    EditOptions,
    configure,
    documents_of,
    edit_directory,
    edit_options,
    items_of,
)
from krm_merge.cli.forges import Places, is_relative, pull_request_command, with_places
from krm_merge.cli.output import STDOUT, print_json, say, show_results, write_result
from krm_merge.components.drawing import dot, mermaid
from krm_merge.components.execution import apply_plan
from krm_merge.components.konflux.reading import UnreadableError
from krm_merge.components.plan.plan_file import RecordedPlan, read_recorded_plan
from krm_merge.components.plan.records import KIND, pull_request_name, pull_request_resource
from krm_merge.components.repository import Repository, RepositoryPullRequests, observe_pull_requests
from krm_merge.forges.interface import ForgeError
from krm_merge.functions.plan_component_updates import drawing_of, plan_component_updates
from krm_merge.git.program import GitError
from krm_merge.krm import ResourceList, Results
from krm_merge.packages import Directory, File, PackageError, holds_resources, note, read_file, reason, write_file
from krm_merge.safe_text import bare_address
from krm_merge.text import read, to_value, yaml_of


@click.group("components", cls=common.Subcommands)
def components_command() -> None:
    """Plan the updates of components that depend on each other, and carry plans out.

    Example:  krm-merge components plan app --dry-run
    """


@components_command.command("apply")
@click.argument("plans", metavar="PLAN...", nargs=-1, required=True, type=common.PATH)
@with_places
@common.quiet
@common.form
def apply_command(plans: tuple[Path, ...], places: Places, quiet: bool, form: str) -> None:
    """Carry out the PullRequestPlans in the files or directories PLAN: branches, commits, pull requests.

    Running it again changes nothing. If a plan cannot be carried out, the others still are, and the exit code is 1.

    Example:  krm-merge components apply app/plans
    """
    results = Results()
    recorded = [plan for place in plans for plan in _recorded_plans(place, results)]
    if not recorded and not results.errors:
        say(f"there is no {KIND}: nothing to do")
    opened: dict[str, tuple[Repository, RepositoryPullRequests]] = {}
    ended: set[str] = set()
    for plan in sorted(recorded, key=lambda plan: not plan.number):
        url = plan.repository
        try:
            if url not in opened:
                repository, forge = places.of(url)
                opened[url] = repository, RepositoryPullRequests(forge, url)
        except (GitError, ForgeError) as error:
            results.error(f"{plan.name}: {error}")
            continue
        repository, pull_requests = opened[url]
        note(f"{plan.name} was carried out at least in part, and the next run completes it")
        for step in apply_plan(plan, repository, pull_requests, ended):
            results.add(step)
    if form == "json":
        print_json({"results": [result.to_value() for result in results]})
    else:
        show_results(results, quiet=quiet, done=True)
    if results.errors:
        sys.exit(1)


@components_command.command("observe")
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@click.option("--namespace", default="", help="The namespace of the items.")
@common.output("The directory to write to, one file per pull request; by default stdout.", default=STDOUT)
@with_places
def observe_command(urls: tuple[str, ...], namespace: str, target: Path, places: Places) -> None:
    """Read the pull requests of git repositories and write them as PullRequest items.

    Example:  krm-merge components observe "$PWD/child.git" -o app/observed
    """
    items: dict[str, str] = {}
    for address in urls:
        # Store the absolute path: the file may be read from another directory.
        url = str(Path(address).resolve()) if is_relative(address) else address
        try:
            repository, forge = places.of(url)
            for pull_request in observe_pull_requests(bare_address(url), repository, forge):
                name = pull_request_name(pull_request)
                items[name] = yaml_of(pull_request_resource(pull_request, name, namespace))
        except (GitError, ForgeError) as error:
            about = "" if str(error).startswith(f"{address}: ") else f"{address}: "
            raise PackageError(f"{about}{error}") from None
    if target == STDOUT:
        click.echo("---\n".join(items.values()), nl=False)
        return
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PackageError(f"{target}: {reason(error)}; name a directory") from None
    for name, text in items.items():
        write_file(target / f"{name}.yaml", File(text.encode()))


components_command.add_command(pull_request_command)


def _recorded_plans(place: Path, results: Results) -> Iterator[RecordedPlan]:
    """The plans in a file or directory; what cannot be read is reported."""
    if not place.exists():
        raise PackageError(f"{place}: there is no such file or directory")
    files = [place / path for path in Directory(place) if holds_resources(path)] if place.is_dir() else [place]
    for file in files:
        try:
            resources = Documents(str(file), read_file(file), str(file)).resources
        except PackageError as error:
            results.error(str(error))
            continue
        for item in resources:
            try:
                if item.kind == KIND:
                    yield read_recorded_plan(item.value)
            except UnreadableError as error:
                results.error(f"{file}: {item.ref}: {error}")


_KIND = "PlanComponentUpdates"
_CONFIG = f"apiVersion: fn.kpt.dev/v1alpha1\nkind: {_KIND}\nmetadata: {{name: components}}\n"
_directory = click.argument("directory", metavar="DIR", type=common.PATH)
_config = click.option("--config", type=common.FILE, help="A PlanComponentUpdates functionConfig; its mode is ignored.")


@components_command.command("validate")
@_directory
@_config
@common.quiet
@common.form
def validate(directory: Path, config: Path | None, quiet: bool, form: str) -> None:
    """Check the graph of the Components in DIR: cycles, ignored edges, unknown names.

    Example:  krm-merge components validate app
    """
    _run(directory, config, "validate", EditOptions(with_diff=False, dry_run=True, quiet=quiet, form=form))


def _add_mode(mode: str, consequence: str, description: str) -> None:
    """Adds the command that runs a mode of the function over a directory."""

    @_directory
    @_config
    @edit_options(consequence)
    @common.options_as(EditOptions)
    def command(directory: Path, config: Path | None, options: EditOptions) -> None:
        _run(directory, config, mode, options)

    example = f"Example:  krm-merge components {mode} app --dry-run"
    components_command.command(mode, help=f"{description}\n\n{example}")(command)


_add_mode(
    "plan",
    "be planned",
    "Plan pull requests from the Components, builds and pull requests in DIR, and write the plans to DIR/plans.",
)
_add_mode("configure", "change", "Write settings into the Konflux resources in DIR, so that Konflux follows the graph.")
_add_mode(
    "simulate",
    "happen",
    "Plan, then simulate what follows: snapshots, tests, candidates, releases.",
)


@components_command.command("graph")
@_directory
@_config
@common.choice_option(["mermaid", "dot"], "--format", "form", help="Text for Mermaid or for Graphviz.")
@common.output("The file to write, by default stdout.", default=STDOUT)
def graph_command(directory: Path, config: Path | None, form: str, target: Path) -> None:
    """Draw the graph of the Components in DIR with their roles, their groups and the pull requests they wait for.

    Example:  krm-merge components graph app -o graph.mmd
    """
    common.refuse_missing(directory)
    resource_list = _with_mode(config, "plan")
    resource_list.items[:] = items_of(documents_of(directory, Directory(directory)))
    drawing, results = drawing_of(resource_list), resource_list.results
    show_results(results, quiet=True)
    if drawing is not None:
        text = dot(drawing) if form == "dot" else mermaid(drawing)
        write_result(target, File(text.encode()))
    if results.errors:
        sys.exit(1)


def _run(directory: Path, config: Path | None, mode: str, options: EditOptions) -> None:
    edit_directory(directory, _with_mode(config, mode), plan_component_updates, options)


def _with_mode(config: Path | None, mode: str) -> ResourceList:
    """A list without items, with the functionConfig in another mode."""
    value = to_value(configure(config, _KIND).function_config if config is not None else read(_CONFIG))
    assert isinstance(value, dict)
    data = value.get("data")
    if value.get("kind") == "ConfigMap" and isinstance(data, dict):
        value = {**value, "data": {**data, "mode": mode}}
    else:
        value = {**value, "mode": mode}
    return ResourceList.with_config(yaml_of(value))
