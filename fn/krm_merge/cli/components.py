"""`krm-merge components`: the graph, plans, and plans carried out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from krm_merge.cli import local_pull_requests, options
from krm_merge.cli.diff import show_diff
from krm_merge.cli.documents import Documents, edited_by
from krm_merge.cli.show import as_json, opened_journal, show_results, summary
from krm_merge.components.carry_out import carry_out
from krm_merge.components.forge import Forge, ForgeError
from krm_merge.components.git import Repository
from krm_merge.components.github import GitHub
from krm_merge.components.local_forge import LocalForge
from krm_merge.components.model import same_repository
from krm_merge.components.observe import observed
from krm_merge.components.observed import UnreadableError
from krm_merge.components.resources import KIND, Order, pull_request_name, pull_request_resource, read_order
from krm_merge.functions.component_drawing import Form, drawn
from krm_merge.functions.plan_component_updates import plan_component_updates
from krm_merge.git_program import GitError
from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Results
from krm_merge.packages.directory import Directory, PackageError, read_file
from krm_merge.packages.git import cache_directory
from krm_merge.packages.tree import File, holds_resources
from krm_merge.packages.write import write_file
from krm_merge.text.document import written
from krm_merge.text.nodes import Mapping
from krm_merge.text.reader import read
from krm_merge.text.values import from_value, to_value

STDOUT = Path("-")
_CONFIG = "apiVersion: fn.kpt.dev/v1alpha1\nkind: PlanComponentUpdates\nmetadata: {name: components}\n"
_directory = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
_config = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A PlanComponentUpdates functionConfig; its mode does not count.",
)
_forge = click.option(
    "--forge",
    type=click.Choice(["auto", "local", "github"]),
    default="auto",
    show_default=True,
    help="Where pull requests are: recorded beside bare repositories on this machine, or in GitHub; auto: by the URL.",
)
_api = click.option(
    "--github-api",
    metavar="URL",
    envvar="GITHUB_API_URL",
    default="https://api.github.com",
    show_default=True,
    help="The API of GitHub; the token is in GITHUB_TOKEN.",
)


@click.group("components")
def command() -> None:
    """Plan the updates of components that depend on each other, and carry plans out."""


command.add_command(local_pull_requests.command)


@command.command("validate")
@_directory
@_config
@options.quiet
@options.output
def validate(directory: Path, config: Path | None, quiet: bool, form: str) -> None:
    """Check the graph of the Components in DIR: cycles, edges that do not count, names that nothing has."""
    _run(directory, config, "validate", write=False, with_diff=False, quiet=quiet, form=form)


@command.command("plan")
@_directory
@_config
@options.show_diff
@click.option("--dry-run", is_flag=True, help="Only tell what would be planned.")
@options.quiet
@options.output
def plan_command(directory: Path, config: Path | None, with_diff: bool, dry_run: bool, quiet: bool, form: str) -> None:
    """Plan pull requests from the Components, builds and pull requests in DIR; the plans are written to DIR/plans."""
    _run(directory, config, "plan", write=not dry_run, with_diff=with_diff, quiet=quiet, form=form)


@command.command("configure")
@_directory
@_config
@options.show_diff
@click.option("--dry-run", is_flag=True, help="Only tell what would change.")
@options.quiet
@options.output
def configure_command(
    directory: Path, config: Path | None, with_diff: bool, dry_run: bool, quiet: bool, form: str
) -> None:
    """Write into the Konflux resources in DIR what makes today's Konflux obey the graph."""
    _run(directory, config, "configure", write=not dry_run, with_diff=with_diff, quiet=quiet, form=form)


@command.command("simulate")
@_directory
@_config
@options.show_diff
@click.option("--dry-run", is_flag=True, help="Only tell what would happen.")
@options.quiet
@options.output
def simulate_command(
    directory: Path, config: Path | None, with_diff: bool, dry_run: bool, quiet: bool, form: str
) -> None:
    """Plan, and play what follows as the specification says: snapshots, tests, candidates, releases."""
    _run(directory, config, "simulate", write=not dry_run, with_diff=with_diff, quiet=quiet, form=form)


@command.command("graph")
@_directory
@click.option("--format", "form", type=click.Choice(["mermaid", "dot", "svg"]), default="mermaid", show_default=True)
@click.option(
    "-o",
    "target",
    type=click.Path(path_type=Path, allow_dash=True),
    default=STDOUT,
    help="The file to write, by default stdout.",
)
def graph_command(directory: Path, form: Form, target: Path) -> None:
    """Draw the graph of the Components in DIR with their roles, groups and the pull requests that are waited for."""
    results = Results()
    text = drawn(_resources(directory), form, results)
    show_results(results, quiet=True)
    if results.errors:
        sys.exit(1)
    if target == STDOUT:
        click.echo(text, nl=False)
    else:
        write_file(target, File(text.encode()))


@command.command("apply")
@click.argument("plans", metavar="PLAN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@_forge
@_api
@options.quiet
def apply_command(plans: tuple[Path, ...], forge: str, github_api: str, quiet: bool) -> None:
    """Carry out the PullRequestPlans in the files or directories PLAN: branches, commits, pull requests.

    Doing it again changes nothing. The exit code is 1 where a plan cannot be carried out; the others are.
    """
    orders = [order for place in plans for order in _orders(place)]
    if not orders:
        raise PackageError(f"{', '.join(map(str, plans))}: there is no {KIND}")
    results = Results()
    repositories: dict[str, Repository] = {}
    for order in orders:
        try:
            repository = repositories.get(order.repository) or _repository(order.repository)
            repositories[order.repository] = repository
            steps = carry_out(order, repository, _forge_of(order.repository, forge, github_api))
        except (GitError, ForgeError) as error:
            results.error(f"{order.name}: {error}")
            continue
        for step in steps:
            getattr(results, step.severity)(step.message, tags={"rule": step.rule})
    show_results(results, quiet=quiet)
    if results.errors:
        sys.exit(1)


@command.command("observe")
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@click.option("--namespace", default="", help="The namespace of the items.")
@click.option(
    "-o",
    "target",
    type=click.Path(path_type=Path, allow_dash=True),
    default=STDOUT,
    help="The directory to write to, a file for each pull request; by default stdout.",
)
@_forge
@_api
def observe_command(urls: tuple[str, ...], namespace: str, target: Path, forge: str, github_api: str) -> None:
    """Read the pull requests of git repositories into PullRequest items."""
    items: dict[str, str] = {}
    for url in urls:
        try:
            for one in observed(url, _repository(url), _forge_of(url, forge, github_api)):
                name = pull_request_name(one)
                root = from_value(pull_request_resource(one, name, namespace))
                assert isinstance(root, Mapping)
                items[name] = written(root)
        except (GitError, ForgeError) as error:
            raise PackageError(f"{url}: {error}") from None
    if target == STDOUT:
        click.echo("---\n".join(items.values()), nl=False)
        return
    target.mkdir(parents=True, exist_ok=True)
    for name, text in items.items():
        write_file(target / f"{name}.yaml", File(text.encode()))


def _run(
    directory: Path, config: Path | None, mode: str, *, write: bool, with_diff: bool, quiet: bool, form: str
) -> None:
    if not directory.is_dir():
        raise PackageError(f"{directory}: there is no such directory")
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
            click.echo("refused; nothing was written" if refused else summary(tree, changes, results), err=True)
    if refused:
        sys.exit(1)


def _with_mode(config: Path | None, mode: str) -> str:
    """The functionConfig as YAML, with another mode."""
    text = read_file(config).data.decode() if config is not None else _CONFIG
    value = to_value(read(text))
    if not isinstance(value, dict):
        raise PackageError(f"{config}: a PlanComponentUpdates functionConfig is expected")
    root = from_value({**value, "mode": mode})
    assert isinstance(root, Mapping)
    return written(root)


def _resources(directory: Path) -> list[Resource]:
    if not directory.is_dir():
        raise PackageError(f"{directory}: there is no such directory")
    files = (
        (path, file) for path, file in Directory(directory).items() if holds_resources(path) and file.mode != "link"
    )
    return [one for path, file in files for one in Documents(str(directory / path), file, path).resources]


def _orders(place: Path) -> Iterator[Order]:
    if not place.exists():
        raise PackageError(f"{place}: there is no such file or directory")
    for file in sorted(place.rglob("*.yaml")) if place.is_dir() else [place]:
        for item in Documents(str(file), read_file(file), str(file)).resources:
            if item.kind != KIND:
                continue
            try:
                yield read_order(item.value)
            except UnreadableError as error:
                raise PackageError(f"{file}: {item.ref}: {error}") from None


def _repository(url: str) -> Repository:
    name = same_repository(url).replace("/", "_").replace(":", "_")
    return Repository.opened(url, cache_directory() / "components" / name)


def _forge_of(url: str, forge: str, api: str) -> Forge:
    local = url.startswith(("/", "file://", "."))
    if forge == "local" or (forge == "auto" and local):
        return LocalForge()
    return GitHub(os.environ.get("GITHUB_TOKEN", ""), api)
