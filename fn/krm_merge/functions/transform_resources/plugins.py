"""The plugins that a functionConfig names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from krm_merge.functions.patch_resources.jobs import read_target
from krm_merge.functions.transform_resources.models import InlinePatchModel, PluginModel
from krm_merge.krm.result import Results
from krm_merge.krm.selector import Target
from krm_merge.transform.kubernetes.plugin import NAME as KUBERNETES
from krm_merge.transform.kubernetes.plugin import KubernetesPlugin
from krm_merge.transform.plugins.directory import PluginDirectory
from krm_merge.transform.plugins.entry_points import installed
from krm_merge.transform.plugins.inline import InlinePlugin, TargetedPatch
from krm_merge.transform.plugins.process import Executable
from krm_merge.transform.protocol.operation import Operation, OperationError
from krm_merge.transform.protocol.plugin import Patch, Plugin, PluginError, WithOptions, metadata_of


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
        yield WithOptions(plugin, model.options) if model.options else plugin


def named_plugins(names: Sequence[str], directory: PluginDirectory) -> list[Plugin]:
    """The built-in plugin by its name, programs by their files, entry points by theirs. Raises PluginError."""
    if not names:
        message = f"names no plugin; omit it to run {KUBERNETES} and all programs in the plugin directory"
        raise PluginError(message)
    return [_named(name, directory) for name in names]


def all_plugins(directory: PluginDirectory) -> list[Plugin]:
    """The built-in plugin and all programs in the directory, as crane runs them. Raises PluginError."""
    return [KubernetesPlugin(), *map(_program, directory.all())]


def _named(name: str, directory: PluginDirectory) -> Plugin:
    if name == KUBERNETES:
        return KubernetesPlugin()
    return _program(directory.executable(name)) if directory.holds(name) else installed(name)


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
    sources = [model.builtin, model.exec, model.entryPoint, model.patches]
    if sum(source is not None for source in sources) != 1:
        raise ValueError("give exactly one of builtin, exec, entryPoint and patches")
    if model.builtin is not None:
        return KubernetesPlugin(model.name or KUBERNETES)
    if model.exec is not None:
        file = directory.executable(model.exec.file)
        return Executable(
            file,
            model.name or "",
            model.exec.protocol,
            model.exec.timeoutSeconds,
            memory_limit=model.exec.memoryMiB << 20,
            process_limit=model.exec.processes,
        )
    if model.entryPoint is not None:
        return installed(model.entryPoint, model.name or "")
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
