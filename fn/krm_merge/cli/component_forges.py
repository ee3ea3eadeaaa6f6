"""`krm-merge components apply | observe`: what needs git and a forge."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import click

from krm_merge.cli import options
from krm_merge.cli.documents import Documents
from krm_merge.cli.show import say, show_results
from krm_merge.components.apply.execution import carry_out
from krm_merge.components.apply.observation import observed
from krm_merge.components.apply.pull_requests import RepositoryPullRequests
from krm_merge.components.apply.repository import KRM_MERGE, Repository
from krm_merge.components.konflux.fields import UnreadableError
from krm_merge.components.plan.records.plan_file import RecordedPlan, read_recorded_plan
from krm_merge.components.plan.records.resources import KIND, pull_request_name, pull_request_resource
from krm_merge.components.plan.records.summary import View, as_page, as_text, as_value, summarized
from krm_merge.forges.addresses import same_repository
from krm_merge.forges.github import GitHub
from krm_merge.forges.interface import Forge, ForgeError
from krm_merge.forges.local_forge import LocalForge
from krm_merge.git.credentials import credentials_for
from krm_merge.git.program import GitError
from krm_merge.git.store import Person
from krm_merge.harmless import bare_address
from krm_merge.krm.result import Results
from krm_merge.packages.directory import Directory, PackageError, read_file, reason
from krm_merge.packages.git import cache_directory
from krm_merge.packages.tree import File, holds_resources
from krm_merge.packages.write import write_file
from krm_merge.packages.written import note
from krm_merge.text.document import written
from krm_merge.text.nodes import Mapping
from krm_merge.text.values import from_value

STDOUT = Path("-")
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


_author = click.option(
    "--author",
    envvar="KRM_MERGE_AUTHOR",
    default="",
    metavar="'NAME <MAIL>'",
    help="Who makes our commits; by default krm-merge. The same for observe and apply.",
)


@click.command("apply")
@click.argument("plans", metavar="PLAN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@_forge
@_api
@click.option("--ok-to-test", is_flag=True, help="Comment /ok-to-test after a push: Pipelines as Code builds it then.")
@_author
@options.quiet
def apply_command(
    plans: tuple[Path, ...], forge: str, github_api: str, ok_to_test: bool, author: str, quiet: bool
) -> None:
    """Carry out the PullRequestPlans in the files or directories PLAN: branches, commits, pull requests.

    Doing it again changes nothing. The exit code is 1 where a plan cannot be carried out; the others are.
    """
    results = Results()
    recorded = [plan for place in plans for plan in _recorded_plans(place, results)]
    if not recorded and not results.errors:
        say(f"there is no {KIND}: nothing to do")
    places: dict[str, tuple[Repository, RepositoryPullRequests]] = {}
    for plan in recorded:
        try:
            repository, pull_requests = places.get(plan.repository) or _place(
                plan.repository, forge, github_api, author
            )
        except (GitError, ForgeError) as error:
            results.error(f"{plan.name}: {error}")
            continue
        places[plan.repository] = repository, pull_requests
        note(f"{plan.name} was carried out at least in part, and the next run completes it")
        for step in carry_out(plan, repository, pull_requests, ok_to_test=ok_to_test):
            getattr(results, step.severity)(step.message, tags={"rule": step.rule})
    show_results(results, quiet=quiet, done=True)
    if results.errors:
        sys.exit(1)


@click.command("summary")
@click.argument("plans", metavar="PLAN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--by", type=click.Choice(["dependant", "group", "wait"]), help="All entries of one view, in text.")
@click.option("--format", "form", type=click.Choice(["text", "json", "html"]), default="text", show_default=True)
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
@click.option(
    "-o",
    "target",
    type=click.Path(path_type=Path, allow_dash=True),
    default=STDOUT,
    help="The directory to write to, a file for each pull request; by default stdout.",
)
@_forge
@_api
@_author
def observe_command(
    urls: tuple[str, ...], namespace: str, target: Path, forge: str, github_api: str, author: str
) -> None:
    """Read the pull requests of git repositories into PullRequest items."""
    items: dict[str, str] = {}
    for given in urls:
        # It shall be the same repository wherever it is read.
        url = str(Path(given).resolve()) if _is_relative(given) else given
        try:
            its_forge = _forge_of(url, forge, github_api)
            for one in observed(bare_address(url), _repository(url, its_forge.git_token(url), author), its_forge):
                name = pull_request_name(one)
                root = from_value(pull_request_resource(one, name, namespace))
                assert isinstance(root, Mapping)
                items[name] = written(root)
        except (GitError, ForgeError) as error:
            raise PackageError(f"{given}: {error}") from None
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


def _place(url: str, forge: str, api: str, author: str) -> tuple[Repository, RepositoryPullRequests]:
    its_forge = _forge_of(url, forge, api)
    return _repository(url, its_forge.git_token(url), author), RepositoryPullRequests(its_forge, url)


def _repository(url: str, token: str, author: str) -> Repository:
    name = same_repository(str(Path(url).resolve()) if _is_relative(url) else url)
    # Readable, and one for each.
    folder = f"{name.rpartition('/')[2]}-{sha256(name.encode()).hexdigest()[:16]}"
    return Repository.opened(
        url,
        cache_directory() / "components" / folder,
        credentials_for(url, token),
        Person.parsed(author) if author else KRM_MERGE,
    )


def _forge_of(url: str, forge: str, api: str) -> Forge:
    if forge == "local" or (forge == "auto" and _is_local(url)):
        return LocalForge()
    return GitHub(os.environ.get("GITHUB_TOKEN", ""), api)


def _is_relative(url: str) -> bool:
    return _is_local(url) and not url.startswith(("/", "file://"))


def _is_local(url: str) -> bool:
    """Whether it is a path; git takes what begins with a dot or exists for one, too."""
    return url.startswith(("/", "file://", ".")) or Path(url).exists() or Path(f"{url}.git").exists()
