"""`krm-merge cache`: which copies of repositories are kept, and how large they are."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import click

from krm_merge.cli import options
from krm_merge.harmless import line
from krm_merge.limits import CACHE_MB
from krm_merge.packages.git_cache import CachedRepository, GitCache
from krm_merge.text.reading.values import Value

_HELP = """Show the copies of git repositories that are kept, the least recently used first.

They are in the directory that KRM_MERGE_CACHE_DIR names, by default ~/.cache/krm-merge, and take at most as many
megabytes as KRM_MERGE_CACHE_MB says, by default 2000: the least recently used ones make room for others. All of them
may be removed at any time; what is needed is fetched again.

\b
Example:  krm-merge cache --clean
"""


@click.command("cache", help=_HELP)
@click.option("--clean", is_flag=True, help="Remove all copies that no other krm-merge is using.")
@options.form
def command(clean: bool, form: str) -> None:
    """Runs the command."""
    cache = GitCache()
    removed = cache.clean() if clean else []
    copies = cache.copies()
    if form == "json":
        value: dict[str, Value] = {"directory": str(cache.place), "limit": CACHE_MB.value() * 10**6}
        value["repositories"] = [_value(copy) for copy in copies]
        click.echo(json.dumps(value | ({"removed": [_value(copy) for copy in removed]} if clean else {}), indent=2))
        return
    for copy in copies:
        click.echo(f"{_megabytes(copy.size):>12}  {_day(copy)}  {line(copy.address)}")
    if clean:
        click.echo(f"removed: {_counted(removed)}")
    click.echo(f"{cache.place}: {_counted(copies)} of {CACHE_MB.value():,} MB")


def _value(copy: CachedRepository) -> dict[str, Value]:
    used = datetime.fromtimestamp(copy.used_at, UTC).isoformat(timespec="seconds")
    return {"repository": copy.address, "directory": str(copy.place), "size": copy.size, "used": used}


def _counted(copies: list[CachedRepository]) -> str:
    count = "1 repository" if len(copies) == 1 else f"{len(copies):,} repositories"
    return f"{count}, {_megabytes(sum(copy.size for copy in copies))}"


def _megabytes(size: int) -> str:
    return f"{size / 10**6:,.1f} MB"


def _day(copy: CachedRepository) -> str:
    return datetime.fromtimestamp(copy.used_at).astimezone().date().isoformat()
