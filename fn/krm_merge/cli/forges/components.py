"""`krm-merge components apply | observe`: what needs git and a forge."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.documents import Documents
from krm_merge.cli.forges.options import Places, is_relative, with_places
from krm_merge.cli.show import say, show_results
from krm_merge.components.apply.execution import apply_plan
from krm_merge.components.apply.observation import observe_pull_requests
from krm_merge.components.apply.pull_requests import RepositoryPullRequests
from krm_merge.components.apply.repository import Repository
from krm_merge.components.konflux.fields import UnreadableError
from krm_merge.components.plan.records.plan_file import RecordedPlan, read_recorded_plan
from krm_merge.components.plan.records.resources import KIND, pull_request_name, pull_request_resource
from krm_merge.components.plan.records.summary import View, as_page, as_text, as_value, summarized
from krm_merge.forges.interface import ForgeError
from krm_merge.git.program import GitError
from krm_merge.harmless import bare_address
from krm_merge.krm.result import Results
from krm_merge.packages.files.directory import Directory, PackageError, read_file, reason
from krm_merge.packages.files.tree import File, holds_resources
from krm_merge.packages.files.write import write_file
from krm_merge.packages.files.written import note
from krm_merge.text.document import written
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.values import from_value

STDOUT = Path("-")


@click.command("apply")
@click.argument("plans", metavar="PLAN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@with_places
@click.option("--ok-to-test", is_flag=True, help="Comment /ok-to-test after a push: Pipelines as Code builds it then.")
@options.quiet
@options.form
def apply_command(plans: tuple[Path, ...], places: Places, ok_to_test: bool, quiet: bool, form: str) -> None:
    """Carry out the PullRequestPlans in the files or directories PLAN: branches, commits, pull requests.

    Doing it again changes nothing. The exit code is 1 where a plan cannot be carried out; the others are.
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
        for step in apply_plan(plan, repository, pull_requests, ended, ok_to_test=ok_to_test):
            results.add(step)
    if form == "json":
        click.echo(json.dumps({"results": [result.to_value() for result in results]}, indent=2))
    else:
        show_results(results, quiet=quiet, done=True)
    if results.errors:
        sys.exit(1)


@click.command("summary")
@click.argument("plans", metavar="PLAN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--by", type=click.Choice(["dependant", "group", "wait"]), help="All entries of one view, in text.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html"]),
    default="text",
    show_default=True,
    help="For people, for programs, or as a page that unfolds.",
)
def summary_command(plans: tuple[Path, ...], by: View | None, form: str) -> None:
    """Sum up the PullRequestPlans in the files or directories PLAN: by dependant, by group, and what waits for what."""
    results = Results()
    found = summarized(plan for place in plans for plan in _recorded_plans(place, results))
    show_results(results, quiet=True)
    if form == "json":
        click.echo(json.dumps(as_value(found), indent=2))
    else:
        click.echo(as_page(found) if form == "html" else as_text(found, by), nl=False)
    if results.errors:
        sys.exit(1)


@click.command("observe")
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@click.option("--namespace", default="", help="The namespace of the items.")
@options.output("The directory to write to, a file for each pull request; by default stdout.", default=STDOUT)
@with_places
def observe_command(urls: tuple[str, ...], namespace: str, target: Path, places: Places) -> None:
    """Read the pull requests of git repositories into PullRequest items."""
    items: dict[str, str] = {}
    for given in urls:
        # Store the absolute path: the file may be read from another directory.
        url = str(Path(given).resolve()) if is_relative(given) else given
        try:
            repository, forge = places.of(url)
            for one in observe_pull_requests(bare_address(url), repository, forge):
                name = pull_request_name(one)
                root = from_value(pull_request_resource(one, name, namespace))
                assert isinstance(root, MappingNode)
                items[name] = written(root)
        except (GitError, ForgeError) as error:
            about = "" if str(error).startswith(f"{given}: ") else f"{given}: "
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


def _recorded_plans(place: Path, results: Results) -> Iterator[RecordedPlan]:
    """The plans in a file or directory; what cannot be read is reported."""
    if not place.exists():
        raise PackageError(f"{place}: there is no such file or directory")
    files = [place / path for path in Directory(place) if holds_resources(path)] if place.is_dir() else [place]
    for file in files:
        try:
            found = Documents(str(file), read_file(file), str(file)).resources
        except PackageError as error:
            results.error(str(error))
            continue
        for item in found:
            try:
                if item.kind == KIND:
                    yield read_recorded_plan(item.value)
            except UnreadableError as error:
                results.error(f"{file}: {item.ref}: {error}")
