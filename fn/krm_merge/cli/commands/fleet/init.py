"""`krm-merge fleet init`."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from dataclasses import dataclass
from glob import glob
from pathlib import Path

import click

from krm_merge.cli.forges import options as forge_options
from krm_merge.cli.options import gathered
from krm_merge.cli.show import say
from krm_merge.fleet.campaign.campaign import CAMPAIGN_FILE, TARGETS_FILE, CampaignTarget, CampaignUpstream
from krm_merge.fleet.campaign.discovery import split_upstream, targets_in, working_tree_of
from krm_merge.fleet.campaign.files import CampaignDirectory
from krm_merge.fleet.campaign.models import MergeCampaign
from krm_merge.forges.addresses import host_of
from krm_merge.forges.choice import Forges, ForgeSettings, is_local
from krm_merge.forges.hosted.pace import Pace
from krm_merge.forges.local_forge import LocalForge
from krm_merge.forges.tokens import variable_of
from krm_merge.git.credentials import take_credentials
from krm_merge.merge.decisions.policy import OnConflict
from krm_merge.packages.files.directory import PackageError, read_file
from krm_merge.packages.git import GitRepositories

_SHOWN = 20
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class TargetSource:
    """Where the targets of a campaign are found."""

    packages: tuple[str, ...]
    repositories: str | None
    host: str | None
    owner: str | None
    topic: str
    forges: tuple[str, ...]
    apis: tuple[str, ...]


@click.command("init")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.argument("more_packages", metavar="", nargs=-1)
@click.option("--upstream", metavar="REPO[/DIRECTORY]", required=True, help="The upstream that packages follow.")
@click.option("--to", "ref", metavar="REF", required=True, help="The version that they take: tag, branch or commit.")
@click.option("--from", "version", metavar="REF", default="", help="Only packages that are at this version.")
@click.option(
    "--packages",
    metavar="GLOB...",
    multiple=True,
    help="Directories of a working tree; all packages in them that follow the upstream.",
)
@click.option(
    "--repositories", metavar="FILE|-", help="A file with an address of a repository on each line; - is stdin."
)
@click.option("--host", metavar="URL", help="The forge whose repositories of one owner are the targets.")
@click.option("--owner", metavar="NAME", help="The organisation, group or user; of a local forge, the directory.")
@click.option("--topic", metavar="NAME", default="", help="Only repositories that carry this topic.")
@click.option(
    "--on-conflict",
    type=click.Choice(["upstream", "local", "fail"]),
    help="Who wins where both sides changed a value, for campaign.yaml; without it such a package is left as it is.",
)
@forge_options.forge_kinds
@forge_options.forge_apis
@gathered(TargetSource)
def init(
    directory: Path,
    more_packages: tuple[str, ...],
    upstream: str,
    ref: str,
    version: str,
    on_conflict: OnConflict | None,
    options: TargetSource,
) -> None:
    """Plan a campaign in DIR: find the packages that follow an upstream, for them to take the version REF.

    Writes campaign.yaml, and targets.yaml with what was found: review both, edit what you like.
    """
    if more_packages and not options.packages:
        raise click.UsageError(f"unexpected argument {more_packages[0]}; directories of packages come with --packages")
    if [bool(options.packages), options.repositories is not None, options.host is not None].count(True) != 1:
        raise click.UsageError("say where the packages are: with --packages, --repositories or --host")
    if (options.host is None) != (options.owner is None):
        raise click.UsageError("--host URL and --owner NAME come together")
    place = CampaignDirectory(directory)
    source = split_upstream(take_credentials(upstream), ref, GitRepositories())
    selection: dict[str, object] = {"from": version} if version else {}
    if options.repositories is not None:
        targets = _listed(options.repositories)
    elif options.host is not None and options.owner is not None:
        targets = _owned(options.host, options.owner, options.topic, options.forges, options.apis)
        selection |= {"forge": take_credentials(options.host), "owner": options.owner} | (
            {"topic": options.topic} if options.topic else {}
        )
    else:
        patterns = [*options.packages, *more_packages]
        directories = _matching(patterns)
        tree = working_tree_of(directories)
        targets, problems = targets_in(tree, directories, source, version)
        for problem in problems[:_SHOWN]:
            say(f"left out: {problem}", on_stdout=False)
        if len(problems) > _SHOWN:
            say(f"left out: {len(problems) - _SHOWN:,} more that cannot be read", on_stdout=False)
        selection |= {"workingTree": os.path.relpath(tree, directory.resolve()), "packages": patterns}
    if not targets:
        at = f" and is at {version}" if version else ""
        raise PackageError(f"no package there follows {source.repository} {source.directory}{at}")
    place.write(_campaign(source, selection, on_conflict), targets)
    _summarise(directory, targets)


def _matching(patterns: list[str]) -> list[Path]:
    found: list[Path] = []
    for pattern in patterns:
        matches = [Path(name) for name in sorted(glob(pattern, recursive=True)) if os.path.isdir(name)]
        if not matches:
            raise PackageError(f"{pattern}: no directory matches")
        found += matches
    return found


def _listed(source: str) -> list[CampaignTarget]:
    text = sys.stdin.buffer.read() if source == "-" else read_file(Path(source)).data
    lines = [line.strip() for line in text.decode(errors="replace").splitlines()]
    given = [line for line in lines if line and not line.startswith("#")]
    names = dict.fromkeys(map(take_credentials, given))
    if hosts := sorted({host_of(name) for name in given if take_credentials(name) != name}):
        variables = ", ".join(map(variable_of, hosts))
        say(f"the credentials in addresses are not written; give git their token: {variables}", on_stdout=True)
    for name in names:
        if name.startswith("-"):
            raise PackageError(f"{source}: {name} is no address of a repository")
    return [CampaignTarget(os.path.abspath(name) if os.path.isdir(name) else name, True) for name in names]


def _owned(host: str, owner: str, topic: str, forges: tuple[str, ...], apis: tuple[str, ...]) -> list[CampaignTarget]:
    if is_local(host):
        place = os.path.join(host.removeprefix("file://"), owner)
        return [CampaignTarget(address, True) for address in LocalForge().repositories(os.path.abspath(place), topic)]
    settings = ForgeSettings.parsed(forges, apis, Pace())
    addresses = Forges(settings).of(host.rstrip("/") + "/-/-").repositories(owner, topic)
    return [CampaignTarget(address, True) for address in addresses]


def _campaign(
    upstream: CampaignUpstream, selection: dict[str, object], on_conflict: OnConflict | None
) -> MergeCampaign:
    package = upstream.directory.strip("/").rpartition("/")[2] or upstream.repository.rstrip("/").rpartition("/")[2]
    name = _NOT_IN_NAMES.sub("-", f"{package.removesuffix('.git')}-{upstream.ref}".lower()).strip("-.")
    return MergeCampaign.model_validate(
        {
            "apiVersion": "fn.kpt.dev/v1alpha1",
            "kind": "MergeCampaign",
            "metadata": {"name": name, "annotations": {"config.kubernetes.io/local-config": "true"}},
            "upstream": {"repo": upstream.repository, "directory": upstream.directory, "ref": upstream.ref},
            "selection": selection,
            "policy": {"onConflict": on_conflict},
            "publish": {"branch": f"krm-merge/{name}"},
        }
    )


def _summarise(directory: Path, targets: list[CampaignTarget]) -> None:
    noun = "repository" if targets[0].is_repository else "package"
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else f"{noun}s"
    versions = Counter(target.at for target in targets if target.at)
    at = ", ".join(f"{count} at {version}" for version, count in versions.most_common())
    say(f"{len(targets):,} {noun if len(targets) == 1 else plural}{f': {at}' if at else ''}", on_stdout=True)
    said = f"review {directory / CAMPAIGN_FILE} and {directory / TARGETS_FILE}, then: krm-merge fleet run {directory}"
    say(said, on_stdout=True)
