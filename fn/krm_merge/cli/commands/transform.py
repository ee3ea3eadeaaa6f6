"""`krm-merge transform`: plugins over a directory, and the files that crane keeps beside its export (rule T9)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from krm_merge.cli import options as common
from krm_merge.cli.documents import (
    Documents,
    EditOptions,
    configure,
    documents_of,
    edit_directory,
    edit_options,
    items_of,
    show_outcome,
)
from krm_merge.cli.output import opened_journal, print_json, say
from krm_merge.functions.edit_items import definitions_of, report_renames
from krm_merge.functions.models import ConflictsModel, TransformResources, WhiteoutModel
from krm_merge.functions.transform_config import (
    Transformation,
    WhiteoutAction,
    all_plugins,
    options_of_crane,
    read_transformation,
    transformation,
)
from krm_merge.functions.transform_resources import (
    Transformer,
    check_targets,
    report_failures,
    report_idle,
    transform_items,
)
from krm_merge.krm import Resource, ResourceList, Results, Severity
from krm_merge.packages import Directory, File, PackageError, write_tree
from krm_merge.startup import replace, split_names
from krm_merge.text import Object, from_value
from krm_merge.transform.plugins.sources import VARIABLE, PluginDirectory
from krm_merge.transform.protocol import Metadata, metadata_of
from krm_merge.transform.runner import crane_file


@dataclass(slots=True)
class CraneFiles:
    """Files of applied and of ignored changes; `outcome` are the resources that patches make."""

    outcome: list[Resource] = field(default_factory=list)
    files: dict[str, File] = field(default_factory=dict)
    ignored: dict[str, File] = field(default_factory=dict)

    def write(self, directory: Path, ignored: Path | None) -> None:
        """Writes the files to a new directory, the ignored ones to another if there is one. Raises PackageError."""
        if ignored == directory:
            self.files |= self.ignored
        elif ignored is not None:
            write_tree(ignored, self.ignored)
        write_tree(directory, self.files)


def crane_files(documents: Mapping[str, Documents], transformer: Transformer) -> CraneFiles:
    """Patches and whiteouts of the resources, and what was ignored.

    Raises PackageError for a file of several resources: there is one patch file for each file.
    """
    files = CraneFiles()
    for path, file_documents in documents.items():
        if len(file_documents.resources) > 1:
            raise PackageError(f"{path} holds several resources; with --transform-dir each has a file of its own")
        for item in file_documents.resources:
            decided = transformer.decide(item)
            if decided is None:
                files.outcome.append(item)
                continue
            settlement, whiteouts = decided.outcome.settlement, decided.outcome.whiteouts
            if whiteouts:
                decided.reporter.whiteouts(whiteouts, "exclude")
            decided.reporter.losses(settlement)
            if settlement.operations:
                decided.reporter.report_applied(settlement)
            if whiteouts:
                files.files[crane_file(path, ".wh.")] = File(b"")
            else:
                files.outcome.append(Resource.from_tree(from_value(settlement.value), item.file, item.index))
                files.files[crane_file(path, "transform-")] = _json(decided.patch)
            if settlement.ignored:
                lost = [ignored.operation for ignored in settlement.ignored]
                files.ignored[crane_file(path, "ignored-")] = _json(
                    [{"PluginName": change.plugin, "Operation": change.operation.to_value()} for change in lost]
                )
    return files


def _json(value: Sequence[Object]) -> File:
    return File(json.dumps(value, ensure_ascii=False).encode() + b"\n")


class _DirectoryOrCommand(common.Subcommands):
    """Takes an argument that is not a subcommand as DIR, as crane does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        run = self.commands["run"]
        run.format_options(click.Context(run, ctx), formatter)
        self.format_commands(ctx, formatter)


@click.group("transform", cls=_DirectoryOrCommand, subcommand_metavar="DIR | COMMAND [ARGS]...")
def transform_command() -> None:
    """Run plugins over the resources in DIR, or list plugins and their options.

    Example:  krm-merge transform web --plugin-dir plugins --dry-run
    """


_plugin_dir = click.option(
    "--plugin-dir",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    envvar=VARIABLE,
    help="The directory of executable plugins; all of them are run.",
)
_skip_plugins = click.option("-s", "--skip-plugins", default="", metavar="A,B", help="Plugins not to run.")


@dataclass(frozen=True, slots=True)
class RunOptions(EditOptions):
    """Options for the source of plugins, the place of the outcome, and what is printed of it."""

    plugin_dir: Path | None
    config: Path | None
    transform_dir: Path | None
    ignored_patches_dir: Path | None


@transform_command.command("run")
@click.argument("directory", metavar="DIR", type=common.PATH)
@click.option(
    "--plugin-priorities", default="", metavar="A,B", help="Plugins that win conflicts, the highest priority first."
)
@_skip_plugins
@click.option("--optional-flags", default="", metavar="JSON", help="Options for every plugin, as a JSON object.")
@_plugin_dir
@click.option("--config", type=common.FILE, help="A TransformResources functionConfig in place of these options.")
@common.choice_option(
    ["info", "warning", "error"],
    "--ignored-severity",
    "severity",
    default="warning",
    help="The severity of an ignored change; with error, no file changes.",
)
@common.choice_option(
    ["annotate", "drop"],
    "--whiteout",
    help="What a whiteout does: annotate the resource, or drop it.",
)
@click.option("--transform-dir", type=common.PATH, help="Leave DIR as it is; write patches here, as crane does.")
@click.option("--ignored-patches-dir", type=common.PATH, help="Write ignored changes here, as crane does.")
@edit_options("be done")
@click.pass_context
@common.options_as(RunOptions)
def run_command(ctx: click.Context, /, directory: Path, options: RunOptions, **choices: Any) -> None:
    """Run plugins over the resources in DIR: KubernetesPlugin and all in --plugin-dir, or those that --config names.

    Every plugin sees each resource as it is; if plugins disagree, the one with priority wins, and the ignored change is
    reported. Resources are changed in place unless --transform-dir is given.

    If something is refused or a plugin fails, the exit code is 1 and nothing is written.

    Example:  krm-merge transform web --plugin-dir plugins --dry-run
    """
    common.refuse_missing(directory)
    flags = [
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name in choices and ctx.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if options.config is not None and flags:
        raise click.UsageError(f"--config replaces all other options; leave out {flags[0]}")
    if options.ignored_patches_dir is not None and options.transform_dir is None:
        raise click.UsageError("--ignored-patches-dir needs --transform-dir; without it, see the results")
    plugins = PluginDirectory(options.plugin_dir, trusted=True)
    if options.config is not None:
        resource_list = configure(options.config, "TransformResources")
        run = read_transformation(resource_list, plugins)
    else:
        resource_list = ResourceList.with_config("")
        run = _of_flags(plugins, resource_list.results, **choices)
    results = resource_list.results

    def transform(items: ResourceList) -> None:
        if run is not None:
            transform_items(items, run)

    if options.transform_dir is None:
        edit_directory(directory, resource_list, transform, options)
        return
    with opened_journal(directory, only_looks=True):
        tree = Directory(directory)
    if run is not None:
        patches = _crane_files(documents_of(directory, tree), run, results)
        if not results.errors and not options.dry_run:
            patches.write(options.transform_dir, options.ignored_patches_dir)
    show_outcome(tree, {}, results, options)


@transform_command.command("list-plugins")
@_plugin_dir
@_skip_plugins
@common.form
def list_plugins(plugin_dir: Path | None, skip_plugins: str, form: str) -> None:
    """List the plugins that `krm-merge transform` would run, with their versions and their options.

    Example:  krm-merge transform list-plugins --plugin-dir plugins
    """
    plugins = _metadata(plugin_dir, skip_plugins)
    if form == "json":
        print_json([plugin.to_value() for plugin in plugins])
        return
    for plugin in plugins:
        say(f"{plugin.name} {plugin.version}".rstrip(), on_stdout=True)
        for declared in plugin.fields:
            example = f" Example: {declared.example}" if declared.example else ""
            say(f"  {declared.name}: {declared.help}{example}", on_stdout=True)


def _metadata(plugin_dir: Path | None, skipped: str) -> list[Metadata]:
    """The plugins' metadata, under the names that krm-merge uses for them."""
    plugins = all_plugins(PluginDirectory(plugin_dir, trusted=True))
    running = [plugin for plugin in plugins if plugin.name not in split_names(skipped)]
    return [replace(metadata_of(plugin), name=plugin.name) for plugin in running]


def _of_flags(
    directory: PluginDirectory,
    results: Results,
    plugin_priorities: str,
    skip_plugins: str,
    optional_flags: str,
    severity: Severity,
    whiteout: WhiteoutAction,
) -> Transformation | None:
    """The run that the flags describe; what is wrong is reported."""
    try:
        flags = options_of_crane(optional_flags)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    settings = TransformResources.model_construct(
        priorities=split_names(plugin_priorities),
        skipPlugins=split_names(skip_plugins),
        options=flags,
        conflicts=ConflictsModel(severity=severity),
        whiteout=WhiteoutModel(action=whiteout),
    )
    return transformation(all_plugins(directory), settings, results, ("", "--plugin-priorities", "--skip-plugins"))


def _crane_files(documents: Mapping[str, Documents], run: Transformation, results: Results) -> CraneFiles:
    """The files of a run over these documents; reports what was decided."""
    items = items_of(documents)
    check_targets(run.runner, len(items))
    transformer = Transformer(run, definitions_of(items))
    patches = crane_files(documents, transformer)
    transformed = transformer.finish()
    for result in transformer.results:
        results.add(result)
    report_failures([transformed], results)
    if not results.errors:
        report_idle(run.runner, [transformed], results)
    if not results.errors:
        report_renames(patches.outcome, transformed.renames, results)
    return patches
