"""The law of the unedited package, on public repositories of kpt packages that have tags PATH/VERSION.

kpt fetches each package as it was at one tag and as it was at the next. Nobody edits it. An update from the one to the
other is to give the files of the other, without a conflict, with all comments. MIRROR holds clones as OWNER+NAME.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from posixpath import basename

import yaml

from krm_merge.errors import KrmMergeError
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, Directory, File, Tree, is_kptfile
from krm_merge.packages.git import GitRepositories
from krm_merge.packages.update import update_package

REPOSITORIES = (
    "GoogleCloudPlatform/pubsec-declarative-toolkit",
    "nephio-project/catalog",
    "kptdev/kpt",
    "kptdev/krm-functions-catalog",
    "GoogleCloudPlatform/blueprints",
)
_OF_KPT = re.compile(
    r"\s*# kpt-merge:.*|^\s*(?:internal\.kpt\.dev/upstream-identifier|cnrm\.cloud\.google\.com/blueprint):.*", re.M
)
_LAYOUT = re.compile(r"[\s'\"]+|annotations:(?: *\{\})? *\n|^---|(?<=[|>])[-+0-9]+(?= *\n)", re.M)
_NOTES = ("internal.kpt.dev/upstream-identifier", "cnrm.cloud.google.com/blueprint")
_LOCK = ("upstream", "upstreamLock")


@dataclass
class Figures:
    """What came of the updates of a repository."""

    updates: int = 0
    layout: int = 0
    faults: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unedited", description=__doc__)
    parser.add_argument("mirror", type=Path)
    parser.add_argument("repositories", nargs="*", default=REPOSITORIES, metavar="OWNER/NAME")
    parser.add_argument("--package", default="", help="only packages whose path begins so")
    arguments = parser.parse_args()
    faults = 0
    for name in arguments.repositories:
        folders = [arguments.mirror / name.replace("/", "+") / "repo", arguments.mirror / name.replace("/", "+")]
        source = next((place for place in folders if place.is_dir()), None)
        if source is None:
            print(f"{name}: no clone below {arguments.mirror}; git clone --mirror it there")
            faults += 1
            continue
        with tempfile.TemporaryDirectory() as work:
            figures = Repository(source, Path(work)).judge(arguments.package)
        for fault in figures.faults:
            print(f"  {fault}")
        layout = f"{figures.layout} files in another layout"
        print(f"{name}: {figures.updates} updates, {len(figures.faults)} faults, {layout}", flush=True)
        faults += len(figures.faults)
    return 1 if faults else 0


class Repository:
    """A bare copy of a repository, and the packages that kpt fetched from it."""

    def __init__(self, source: Path, work: Path) -> None:
        self._path, self._work = work / "upstream.git", work
        _run("git", "clone", "--quiet", "--bare", str(source.resolve()), str(self._path))
        self._fetched: dict[tuple[str, str], Directory | None] = {}
        self._repositories = GitRepositories(work / "cache")

    def judge(self, prefix: str) -> Figures:
        """Updates every package from each tag to the next."""
        figures = Figures()
        for package, before, after in self._pairs():
            if not package.startswith(prefix):
                continue
            old, new = self._get(package, before), self._get(package, after)
            if old is not None and new is not None:
                figures.updates += 1
                where = f"{package} {before} -> {after}"
                figures.faults += [f"{where}: {fault}" for fault in self._faults(old, new, after, figures)]
        return figures

    def _faults(self, old: Tree, new: Tree, version: str, figures: Figures) -> Iterator[str]:
        try:
            done = update_package(old, self._repositories, PackageMerger(Policy(), smart=True), ref=version)
        except KrmMergeError as error:
            yield str(error)
            return
        conflicts = [result.message for result in done.results if result.severity != "info"]
        if conflicts:
            yield f"{len(conflicts)} conflicts, such as: {conflicts[0]}"
        merged = Changed(old, done.changes)
        for path in sorted({*new, *merged}):
            want, have = new.get(path), merged.get(path)
            if want == have or (want is not None and have is not None and want.data == have.data):
                continue
            if want is None or have is None:
                # kpt copies no file whose path begins with that of a package inside: upstream has it.
                yield f"{path}: {'lacking' if have is None else 'left over'}"
            elif is_kptfile(path):
                if _kptfile(want) != _kptfile(have):
                    yield f"{path}: other values"
            elif _words(want) != _words(have) or _values(path, want) != _values(path, have):
                yield f"{path}: other values or comments"
            else:
                figures.layout += 1

    def _pairs(self) -> list[tuple[str, str, str]]:
        versions = defaultdict(list)
        for tag in _run("git", "-C", str(self._path), "tag").split():
            path, _, version = tag.rpartition("/")
            if path and _has(self._path, f"{tag}:{path}/Kptfile"):
                versions[path].append(version)
        in_order = {path: sorted(tags, key=_number) for path, tags in sorted(versions.items())}
        return [(path, *pair) for path, tags in in_order.items() for pair in pairwise(tags)]

    def _get(self, package: str, version: str) -> Directory | None:
        if (package, version) not in self._fetched:
            place = self._work / f"{len(self._fetched)}" / basename(package)
            place.parent.mkdir()
            address = f"file://{self._path}/{package}@{version}"
            subprocess.run(["kpt", "pkg", "get", address, str(place)], capture_output=True, check=False)
            self._fetched[package, version] = Directory(place) if place.is_dir() else None
        return self._fetched[package, version]


def _kptfile(file: File) -> object:
    value = yaml.safe_load(file.data)
    return {key: inner for key, inner in value.items() if key not in _LOCK} if isinstance(value, dict) else value


def _words(file: File) -> str:
    """All that a file says, comments too, without kpt's notes and in one layout."""
    text = file.data.decode(errors="replace")
    return _LAYOUT.sub("", _OF_KPT.sub("", text) + "\n")


def _values(path: str, file: File) -> list[object]:
    """The values of a YAML file without kpt's notes, none of another file."""
    values = list(yaml.load_all(file.data, yaml.CSafeLoader)) if path.endswith((".yaml", ".yml")) else []
    for value in values:
        metadata = value.get("metadata") if isinstance(value, dict) else None
        if isinstance(metadata, dict) and isinstance(annotations := metadata.get("annotations") or {}, dict):
            metadata["annotations"] = {name: text for name, text in annotations.items() if name not in _NOTES}
    return values


def _number(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def _has(repository: Path, name: str) -> bool:
    return subprocess.run(["git", "-C", str(repository), "cat-file", "-e", name], capture_output=True).returncode == 0


def _run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
