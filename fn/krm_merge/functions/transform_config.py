"""The functionConfig of TransformResources: which plugins run, and how their conflicts are settled."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from krm_merge.functions.edit_items import read_target
from krm_merge.functions.models import InlinePatchModel, PluginModel, TransformResources
from krm_merge.krm import ResourceList, Results, Target, validate
from krm_merge.text import Value, to_value
from krm_merge.transform.kubernetes import NAME as KUBERNETES
from krm_merge.transform.kubernetes import KubernetesPlugin
from krm_merge.transform.plugins.process import Executable
from krm_merge.transform.plugins.sources import InlinePlugin, PluginDirectory, TargetedPatch
from krm_merge.transform.protocol import Operation, OperationError, Patch, Plugin, PluginError, metadata_of
from krm_merge.transform.runner import Runner


def read_plugins(models: Sequence[PluginModel], directory: PluginDirectory, results: Results) -> Iterator[Plugin]:
    """The plugins, in order; reports all problems."""
    for at, model in enumerate(models):
        path = f"plugins[{at}]"
        try:
            plugin = _plugin(model, directory)
            # Reading the metadata of a program runs it for the first time.
            metadata_of(plugin)
        except (PluginError, ValueError) as error:
            results.error(f"functionConfig: {path}: {error}", path=path)
            continue
        yield plugin


def all_plugins(directory: PluginDirectory) -> list[Plugin]:
    """The built-in plugin and all programs in the directory, as crane runs them. Raises PluginError."""
    return [KubernetesPlugin(), *map(_program, directory.all())]


def _program(file: Path) -> Plugin:
    # T11: without a configured name, the metadata name it.
    plugin = Executable(file)
    try:
        metadata_of(plugin)  # refuses a plugin that does not answer
    except PluginError as error:
        raise PluginError(f"{file}: {error}") from None
    return plugin


def _plugin(model: PluginModel, directory: PluginDirectory) -> Plugin:
    """The plugin of a model. Raises PluginError or ValueError."""
    sources = [model.builtin, model.exec, model.patches]
    if sum(source is not None for source in sources) != 1:
        raise ValueError("give exactly one of builtin, exec and patches")
    if model.builtin is not None:
        return KubernetesPlugin(model.name or KUBERNETES)
    if model.exec is not None:
        file = directory.executable(model.exec.file)
        return Executable(file, model.name or "", model.exec.timeoutSeconds)
    if model.name is None:
        raise ValueError("name is missing: priorities and results name the patches by it")
    assert model.patches is not None
    return InlinePlugin(model.name, tuple(_patch(patch, at) for at, patch in enumerate(model.patches)))


def _patch(model: InlinePatchModel, at: int) -> TargetedPatch:
    operations = []
    for number, operation in enumerate(model.ops):
        try:
            operations.append(Operation.read(operation.model_dump(by_alias=True, exclude_unset=True)))
        except OperationError as error:
            raise ValueError(f"patches[{at}].ops[{number}]: {error}") from None
    target = Target() if model.target is None else read_target(model.target.model_dump())
    return TargetedPatch(target, Patch(tuple(operations), skips=model.onTestFailure == "skip"))


WhiteoutAction: TypeAlias = Literal["annotate", "drop"]
"""The effect of a whiteout: the resource is marked as local-config, or removed."""

_OPTIONS = 'a JSON object of strings is expected, e.g. \'{"strip-default-rbac": "false"}\''


@dataclass(frozen=True, slots=True)
class Transformation:
    """A run of plugins, and how their conflicts are reported."""

    runner: Runner
    settings: TransformResources


def read_transformation(resource_list: ResourceList, directory: PluginDirectory) -> Transformation | None:
    """Reads the functionConfig; reports all its errors to the results and then returns None."""
    config = resource_list.function_config
    assert config is not None
    results = resource_list.results
    model = validate(resource_list, TransformResources, to_value(config))
    if model is None:
        return None
    plugins = list(read_plugins(model.plugins, directory, results))
    if results.errors:
        return None
    return transformation(plugins, model, results, ("functionConfig: ", "priorities", "skipPlugins"))


def transformation(
    plugins: Sequence[Plugin], settings: TransformResources, results: Results, words: tuple[str, str, str]
) -> Transformation | None:
    """The run of these plugins; None if the settings name an unknown plugin, which is reported.

    `words` begin the messages and name the fields of the priorities and of the plugins to skip.
    """
    prefix, priorities, skipped = words
    plugin_names = dict.fromkeys(plugin.name for plugin in plugins)
    for field_, names in ((priorities, settings.priorities), (skipped, settings.skipPlugins)):
        for name in names:
            if name not in plugin_names:
                # T11: a misspelt name would silently have no effect.
                message = (
                    f"{prefix}{field_} names {name}, but no plugin has that name; choose from {', '.join(plugin_names)}"
                )
                results.error(message, path=field_)
    running = [plugin for plugin in plugins if plugin.name not in settings.skipPlugins]
    _report_unknown_options(settings.options, running, results, prefix)
    if results.errors:
        return None
    numbers = {name: at for at, name in reversed(list(enumerate(settings.priorities)))}
    return Transformation(Runner(running, numbers, settings.options), settings)


class _Pairs(list[tuple[str, Value]]):
    """The fields of a JSON map, including duplicates."""


def options_of_crane(text: str) -> dict[str, str]:
    """The options in a JSON map of texts, names in lower case as in crane. Raises ValueError."""
    try:
        pairs = json.loads(text, object_pairs_hook=_Pairs) if text.strip() else _Pairs()
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON at line {error.lineno}, column {error.colno}; {_OPTIONS}") from None
    except ValueError:
        raise ValueError(f"no JSON; {_OPTIONS}") from None
    if not isinstance(pairs, _Pairs) or not all(isinstance(value, str) for _, value in pairs):
        raise ValueError(_OPTIONS)
    options: dict[str, str] = {}
    for name, value in pairs:
        if name.lower() in options:
            raise ValueError(f"duplicate optional key {name.lower()}")
        options[name.lower()] = str(value)
    return options


def _report_unknown_options(
    options: Mapping[str, str], plugins: Sequence[Plugin], results: Results, prefix: str
) -> None:
    """An option that no plugin knows is likely misspelt; a plugin that declares none may know any."""
    declared = [{option_field.name for option_field in metadata_of(plugin).fields} for plugin in plugins]
    if all(declared):
        for name in sorted(options.keys() - set().union(*declared)):
            results.warning(f"{prefix}no plugin knows the option {name}", path=f"options.{name}")
