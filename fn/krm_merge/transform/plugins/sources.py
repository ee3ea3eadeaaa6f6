"""Where plugins come from: inline patches, a directory of programs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from krm_merge.krm import Target, TargetNames, Targets
from krm_merge.safe_text import quoted
from krm_merge.text import Object
from krm_merge.transform.protocol import Options, Patch, PluginError, Response


@dataclass(frozen=True, slots=True)
class TargetedPatch:
    """A patch and its target."""

    target: Target
    patch: Patch


@dataclass(frozen=True, slots=True)
class InlinePlugin:
    """Named patches."""

    name: str
    patches: tuple[TargetedPatch, ...]
    targets: Targets = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Finds targets by the names in them."""
        object.__setattr__(self, "targets", Targets([patch.target for patch in self.patches]))

    def run(self, resource: Object, options: Options) -> Response:
        """The patches for this resource."""
        identity = TargetNames.of(resource)
        candidates = (self.patches[number] for number in self.targets.of(identity.kind, identity.name))
        return Response(tuple(item.patch for item in candidates if item.target.selects(resource, identity)))


VARIABLE: Final = "KRM_MERGE_PLUGIN_DIR"
"""The environment variable that names the directory; the image sets it to /plugins."""


@dataclass(frozen=True, slots=True)
class PluginDirectory:
    """The directory of executable plugins; None if plugins are not allowed.

    It is `trusted` if the user named it; otherwise the user who runs the function must not be able to write to it.
    """

    path: Path | None = None
    trusted: bool = False

    @classmethod
    def of_environment(cls) -> PluginDirectory:
        """The plugin directory of the environment, None if there is none."""
        path = os.environ.get(VARIABLE)
        return cls(Path(path) if path else None)

    def all(self) -> list[Path]:
        """All executable files below it, as crane finds its plugins, sorted by name.

        Raises PluginError for an untrusted one.
        """
        files = self._files()
        for file in files:
            self._check(file)
        return files

    def _files(self) -> list[Path]:
        return list(_executables(self.path)) if self.path is not None else []

    def executable(self, name: str) -> Path:
        """The plugin with this base name (T6). Raises PluginError if it is missing or untrusted.

        The configuration is part of the package, so it may only choose among the plugins in the image.
        """
        if self.path is None:
            raise PluginError(
                f"executable plugins run only where {VARIABLE} names their directory: put the plugin under /plugins of "
                "an image made FROM the one for plugins, whose tag ends in -plugins"
            )
        if not name or name != os.path.basename(name) or name in (".", ".."):
            raise PluginError(
                f"{quoted(name)!r} is not the name of a file in the plugin directory; a path cannot be given"
            )
        return self._check(self.path / name)

    def _check(self, file: Path) -> Path:
        """The resolved path of an executable file."""
        assert self.path is not None
        try:
            real, status = file.resolve(strict=True), file.stat()
        except (OSError, RuntimeError):
            # Missing, or a circular link: a RuntimeError before Python 3.13.
            names = ", ".join(path.name for path in self._files()) or "nothing"
            raise PluginError(f"{self.path} has no plugin {file.name}; it holds {names}") from None
        if not real.is_relative_to(self.path.resolve()):
            raise PluginError(f"{file} is outside the plugin directory")
        if not stat.S_ISREG(status.st_mode) or not os.access(file, os.X_OK):
            raise PluginError(f"{file} is not an executable file; set its mode to 0555")
        if not self.trusted and _could_be_changed(file, status.st_mode):
            raise PluginError(
                f"{file} could be changed by the user who runs this; set its mode to 0555, its owner to root"
            )
        return real


def _could_be_changed(file: Path, mode: int) -> bool:
    return bool(mode & (stat.S_IWGRP | stat.S_IWOTH)) or (os.geteuid() != 0 and os.access(file, os.W_OK))


def _executables(directory: Path) -> Iterator[Path]:
    if not directory.is_dir():
        return
    for path in sorted(directory.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _executables(path)
        elif path.is_file() and os.access(path, os.X_OK):
            yield path
