"""The arguments that name packages, and the version that one is updated to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from krm_merge.krm.identity import KPTFILE
from krm_merge.packages.files.directory import PackageError, packages_below


def named_package(argument: str) -> tuple[Path, str]:
    """The directory and the ref in `PKG[@REF]`; the ref is '' where none is named."""
    directory, ref = (argument, "") if "@" not in argument or Path(argument).is_dir() else argument.rsplit("@", 1)
    return Path(directory or "."), ref


def refuse_missing(place: Path) -> None:
    """Raises PackageError where there is no such directory."""
    if not place.is_dir():
        raise PackageError(f"{place}: there is no such directory")


def packages_of(paths: Iterable[Path]) -> list[Path]:
    """The packages below each directory, and the package that holds each file. Raises PackageError."""
    return list(dict.fromkeys(package for path in paths for package in _packages_of(path)))


def _packages_of(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield from _holder(path)
    elif path.exists():
        yield from packages_below(path)
    else:
        raise PackageError(f"{path}: there is no such file or directory")


def _holder(file: Path) -> Iterator[Path]:
    """The nearest directory above a file that has a Kptfile, if any."""
    for folder in file.parents:
        if (folder / KPTFILE).is_file():
            yield folder
            return
