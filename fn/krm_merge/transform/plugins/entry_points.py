"""Plugins of installed Python packages. The edge to these packages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeAlias

from krm_merge.text.reading.values import Object, Value
from krm_merge.transform.plugins.own_limits import LimitError, limited
from krm_merge.transform.protocol.plugin import Metadata, Options, Plugin, PluginError, Response, metadata_of

GROUP: Final = "krm_merge.transform_plugins"
"""The group of entry points that names plugins."""

PluginFunction: TypeAlias = Callable[[Object, Options], "Response | dict[str, Value]"]


@dataclass(slots=True)
class Installed:
    """A plugin of an installed package, under the name that the configuration gives it."""

    name: str
    run_function: PluginFunction
    metadata: Metadata
    _broken: LimitError | None = None

    def run(self, resource: Object, options: Options) -> Response:
        """Runs it; it may answer a Response or its JSON form. Raises PluginError.

        After it exceeds a limit once, it is not called again.
        """
        if self._broken is not None:
            raise self._broken
        # Output to stdout would precede the ResourceList.
        try:
            with redirect_stdout(sys.stderr), limited():
                answer = self.run_function(resource, options)
        except LimitError as error:
            self._broken = error
            raise
        return answer if isinstance(answer, Response) else Response.read(answer)


def installed(entry_point: str, name: str = "") -> Plugin:
    """The plugin of an entry point: a function, a class without parameters, or an object with `run`.

    Raises PluginError if it is missing or cannot be loaded.
    """
    found = {point.name: point for point in entry_points(group=GROUP)}
    if entry_point not in found:
        known = ", ".join(sorted(found)) or "none"
        raise PluginError(f"no installed package has the entry point {entry_point} in {GROUP}; known are {known}")
    return _loaded(found[entry_point], name or entry_point)


def all_installed() -> list[str]:
    """The names of all entry points, in order."""
    return sorted(point.name for point in entry_points(group=GROUP))


def _loaded(point: EntryPoint, name: str) -> Plugin:
    try:
        with redirect_stdout(sys.stderr), limited():
            value = point.load()
            if isinstance(value, type):
                value = value()
    except (Exception, SystemExit) as error:
        # Importing runs other people's code.
        raise PluginError(f"{point.value} cannot be loaded: {type(error).__name__}: {error}") from error
    if callable(run := getattr(value, "run", None)):
        return Installed(name, run, metadata_of(value))
    if callable(value):
        return Installed(name, value, Metadata(name))
    raise PluginError(f"{point.value} is neither a function nor an object with run")
