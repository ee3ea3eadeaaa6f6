"""The argument that names a package, and the version that it is updated to."""

from __future__ import annotations

from pathlib import Path

from krm_merge.packages.files.directory import PackageError


def named_package(argument: str) -> tuple[Path, str]:
    """The directory and the ref in `PKG[@REF]`; the ref is '' where none is named."""
    directory, ref = (argument, "") if "@" not in argument or Path(argument).is_dir() else argument.rsplit("@", 1)
    return Path(directory or "."), ref


def refuse_missing(place: Path) -> None:
    """Raises PackageError where there is no such directory."""
    if not place.is_dir():
        raise PackageError(f"{place}: there is no such directory")
