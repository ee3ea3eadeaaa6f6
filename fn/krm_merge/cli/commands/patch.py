"""`krm-merge patch apply`, `krm-merge patch run` and `krm-merge patch create`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from krm_merge.cli import options as common
from krm_merge.cli.documents import (
    Documents,
    EditOptions,
    configure,
    edit_directory,
    edit_options,
)
from krm_merge.cli.options import options_as, output, quiet
from krm_merge.cli.output import STDIN, STDOUT, show_diff, show_results, write_result
from krm_merge.cli.sides import name_of_input, read_input
from krm_merge.functions.edit_items import Shapes
from krm_merge.functions.patch_resources import (
    THE_NAME,
    Jobs,
    PatchJob,
    apply_jobs,
    read_jobs,
    report_jobs,
)
from krm_merge.krm import Resource, ResourceList, Results, Severity, Target
from krm_merge.merge import CRD
from krm_merge.packages import File, PackageError, RefusedError
from krm_merge.patch import (
    ListOrder,
    MergeKeys,
    PatchError,
    create,
    create_merge,
    create_merge_three_way,
    create_three_way,
)
from krm_merge.patch.json_patch import create_json
from krm_merge.patch.patches import Modes, PatchType, named_by, read_patches, target_of, with_labels, with_names
from krm_merge.safe_text import quoted
from krm_merge.text import MappingNode, Object, TextError, Value, from_value, read_all, to_value, yaml_of

_RUN = "the patches of a package run with: krm-merge patch run DIR --config FILE, where FILE is a PatchResources"

_list_order = common.choice_option(
    ["document", "kubernetes"],
    "--list-order",
    help="How strategic merge patches order lists: as specified, or as kubectl does.",
)
_merge_keys = common.choice_option(
    ["multi", "single"],
    "--merge-keys",
    help="Whether all key fields identify an element of a list, or only the one that kubectl knows.",
)
_allow_missing = click.option("--allow-missing", is_flag=True, help="Only warn if a patch matches nothing.")


@click.group("patch", cls=common.Subcommands)
def patch_command() -> None:
    """Apply and create patches: strategic merge patches, JSON merge patches (RFC 7386), JSON patches (RFC 6902).

    Example:  krm-merge patch create v1/deployment.yaml v2/deployment.yaml
    """


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """How a patch is read and applied, and what is printed."""

    type_: PatchType | None
    list_order: ListOrder
    merge_keys: MergeKeys
    allow_missing: bool
    with_diff: bool
    quiet: bool


@patch_command.command("apply")
@click.argument("file", type=common.PATH_OR_STDIN)
@click.argument("patch", type=common.PATH_OR_STDIN)
@click.option(
    "--type",
    "type_",
    type=click.Choice(["strategic", "merge", "json"]),
    help="The type of the patch; by default strategic for a mapping, json for a list.",
)
@_list_order
@_merge_keys
@_allow_missing
@output("The file to write, by default stdout.", default=STDOUT)
@click.option("--in-place", is_flag=True, help="Write the result to FILE.")
@click.option("--diff", "with_diff", is_flag=True, help="Print the difference instead of the result.")
@quiet
@options_as(ApplyOptions)
def apply_command(file: Path, patch: Path, target: Path, in_place: bool, options: ApplyOptions) -> None:
    """Apply the patch in PATCH to the resources in FILE. One of them may be - for stdin.

    A patch that names its object (apiVersion, kind, metadata.name) applies to that object; a patch that names none
    applies to every resource in FILE. Names and kinds do not change; comments, order and style of everything else stay.
    CustomResourceDefinitions in FILE define how lists of custom resources merge.

    If a patch cannot be applied or matches nothing, the exit code is 1 and nothing is written.

    Example:  krm-merge patch apply web/deployment.yaml patch.yaml --diff
    """
    if (directory := next((place for place in (file, patch) if place.is_dir()), None)) is not None:
        raise PackageError(f"{directory} is a directory; {_RUN}")
    if file == patch == STDIN or (in_place and (file == STDIN or target != STDOUT)):
        raise click.UsageError("only one file can be -, and --in-place cannot be combined with -o or -")
    before = read_input(file)
    resource_list = ResourceList.with_config("")
    results = resource_list.results
    jobs = _jobs(patch, options, results)
    if results.errors:
        show_results(results, quiet=options.quiet)
        sys.exit(1)
    name = name_of_input(file)
    documents = Documents(name, before)
    resource_list.items[:] = documents.resources
    for job in jobs:
        if job.patch.body.get("kind") == "PatchResources" and not any(
            job.target.selects(item.value) for item in documents.resources
        ):
            raise RefusedError(f"{job.label} is a PatchResources; {_RUN}")
    config = Jobs(jobs, Modes(options.list_order, options.merge_keys))
    tallies = apply_jobs(resource_list, config, f"{name_of_input(patch)}: ")
    after = File(documents.rest(set(map(id, resource_list.items))), before.mode)
    resource_list.items[:] = Documents(name, after, name).resources
    report_jobs(resource_list, config, tallies, "", name, _severity(options.allow_missing))
    show_results(results, quiet=options.quiet)
    if results.errors:
        sys.exit(1)
    if options.with_diff:
        shown = file.name if file != STDIN else name
        show_diff({shown: before}, {shown: after} if after.data != before.data else {})
    if in_place or target != STDOUT or not options.with_diff:
        write_result(file if in_place else target, after, before if in_place else None)


@patch_command.command("run")
@click.argument("directory", metavar="DIR", type=common.PATH)
@click.option(
    "--config",
    "config_file",
    required=True,
    type=common.FILE,
    help="The PatchResources functionConfig with the patches.",
)
@_allow_missing
@edit_options("be done")
@options_as(EditOptions)
def run_command(directory: Path, config_file: Path, allow_missing: bool, options: EditOptions) -> None:
    """Apply the patches of a PatchResources to the resources in DIR, as a pipeline does.

    If a patch cannot be applied or matches nothing, the exit code is 1 and nothing is written.

    Example:  krm-merge patch run web --config patches.yaml --dry-run
    """
    prefix = f"{config_file}: "

    def patch(resource_list: ResourceList) -> None:
        config = read_jobs(resource_list)
        if not resource_list.results.errors:
            tallies = apply_jobs(resource_list, config, prefix)
            report_jobs(resource_list, config, tallies, prefix, str(directory), _severity(allow_missing))

    edit_directory(directory, configure(config_file, "PatchResources"), patch, options)


def _severity(allow_missing: bool) -> Severity:
    """That of a patch that matches nothing."""
    return "warning" if allow_missing else "error"


def _jobs(place: Path, options: ApplyOptions, results: Results) -> list[PatchJob]:
    """The patches in a file, each for the object that it names, or for every resource.

    Raises PackageError for what cannot be read; what else is wrong is reported.
    """
    try:
        patches = read_patches(read_input(place).data.decode(), options.type_)
    except (PatchError, UnicodeDecodeError) as error:
        raise PackageError(f"{name_of_input(place)}: {error}") from None
    if not patches:
        raise PackageError(f"{name_of_input(place)}: the patch is empty")
    jobs = []
    for label, patch in with_labels(patches, name_of_input(place)):
        target = target_of(patch)
        if target is None and (named := named_by(patch)):
            # It would give every resource that name.
            results.error(
                f"{label} has {' and '.join(named)}: a patch names its object by apiVersion, kind and metadata.name, "
                "and one for every resource has none of these"
            )
        jobs.append(PatchJob(label, None, patch, target or Target(), THE_NAME, keeps_name=True, keeps_kind=True))
    return jobs


@patch_command.command("create")
@click.argument("old", type=common.PATH_OR_STDIN)
@click.argument("new", type=common.PATH_OR_STDIN)
@click.option(
    "--live",
    type=common.PATH_OR_STDIN,
    help="The live object: create the patch for it that kubectl apply would send.",
)
@click.option("--overwrite/--no-overwrite", default=True, help="Whether the patch may overwrite changes of --live.")
@click.option(
    "--type",
    "type_",
    type=click.Choice(["strategic", "merge", "json"]),
    help="A strategic merge patch (the default), a JSON merge patch (RFC 7386), or a JSON patch (RFC 6902).",
)
@_list_order
@_merge_keys
def create_command(
    old: Path,
    new: Path,
    live: Path | None,
    overwrite: bool,
    type_: PatchType | None,
    list_order: ListOrder,
    merge_keys: MergeKeys,
) -> None:
    """Print the patch that turns the object in OLD into the one in NEW. One of the files may be - for stdin.

    The patch names its object, unless it changes a name. `krm-merge declare` makes patches of all edits of a package.

    CustomResourceDefinitions in either file define how their lists merge. Applying the patch needs them too.

    With --live, OLD is the object as last applied: the patch deletes what OLD has and NEW lacks, and keeps what only
    the live object has.

    Example:  krm-merge patch create v1/deployment.yaml v2/deployment.yaml
    """
    places = [place for place in (old, new, live) if place is not None]
    if (directory := next((place for place in places if place.is_dir()), None)) is not None:
        raise PackageError(f"{directory} is a directory; the edits of a package become patches with krm-merge declare")
    if live is not None and type_ == "json":
        raise click.UsageError("--live makes patches of the types strategic and merge only")
    if places.count(STDIN) > 1:
        raise click.UsageError("only one file can be -")
    objects: dict[Path, Object] = {}
    definitions: list[MappingNode] = []
    for place in places:
        objects[place], beside = _object(place)
        definitions += beside
    original, modified = objects[old], objects[new]
    if live is not None:
        _check_one_object(live, objects[live], new, modified)
    schema = Shapes(lambda: definitions).of(Resource.from_tree(from_value(modified)))
    try:
        if type_ == "json":
            click.echo(yaml_of([*create_json(original, modified)]), nl=False)
            return
        if type_ == "merge":
            patch = (
                create_merge(original, modified)
                if live is None
                else create_merge_three_way(original, modified, objects[live], overwrite=overwrite)
            )
        elif live is None:
            patch = create(original, modified, schema, list_order=list_order, merge_keys=merge_keys)
        else:
            patch = create_three_way(
                original,
                modified,
                objects[live],
                schema,
                overwrite=overwrite,
                list_order=list_order,
                merge_keys=merge_keys,
            )
    except PatchError as error:
        raise RefusedError(f"{name_of_input(live or new)}: {error}") from None
    click.echo(yaml_of(with_names(patch, objects[live or old])), nl=False)


def _object(place: Path) -> tuple[Object, list[MappingNode]]:
    """The object in a file, and the CustomResourceDefinitions beside it. Raises PackageError."""
    try:
        roots = list(read_all(read_input(place).data.decode()))
    except (TextError, UnicodeDecodeError) as error:
        raise PackageError(f"{name_of_input(place)}: {error}") from None
    definitions = [root for root in roots if isinstance(root, MappingNode) and to_value(root.get("kind")) == CRD]
    definition_ids = set(map(id, definitions)) if len(roots) > 1 else set()  # one alone is the object
    objects = [root for root in roots if id(root) not in definition_ids]
    value = to_value(objects[0]) if len(objects) == 1 else None
    if not isinstance(value, dict):
        raise PackageError(
            f"{name_of_input(place)}: one object is expected, and no others than CustomResourceDefinitions"
        )
    return value, definitions


def _check_one_object(live: Path, now: Object, new: Path, modified: Object) -> None:
    """Checks an object as kubectl apply does before it makes a patch."""
    for field in ("apiVersion", "kind", "metadata.name"):
        before, after = _text_at(now, field), _text_at(modified, field)
        if before != after:
            raise PackageError(
                f"{name_of_input(live)}: {field} is {quoted(before or 'missing')}, in {name_of_input(new)} it is "
                f"{quoted(after or 'missing')}; with --live, both must be one object"
            )


def _text_at(value: Value, path: str) -> str | None:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None
