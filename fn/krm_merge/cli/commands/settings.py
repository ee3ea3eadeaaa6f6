"""`krm-merge config`: the functionConfig of an update, and what runs functions."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from krm_merge.cli import options as common
from krm_merge.cli.output import STDOUT, opened_package, say, show_results, write_result
from krm_merge.cli.sides import FollowingPackage
from krm_merge.krm import Results
from krm_merge.packages import (
    CONFIG_FILE,
    File,
    add_function,
    has_image,
    remove_function,
)
from krm_merge.usecases import merge_config

IMAGE = "localhost/krm-merge:dev"
"""What `make image` builds: nothing is published yet (docs/releasing.md)."""
PROGRAM = "krm-merge"


program_options = common.combined(
    click.option("--image", metavar="IMAGE", help=f"The image of the function; by default {IMAGE} if it exists."),
    click.option("--exec", "program", metavar="PROGRAM", help=f"A program instead of an image; by default {PROGRAM}."),
)


def chosen_program(image: str | None, program: str | None) -> dict[str, str]:
    """The field of a declared function that says what runs it. Raises UsageError where there is nothing to run it."""
    if image and program:
        raise click.UsageError("give --image or --exec, not both")
    if image or (program is None and has_image(IMAGE)):
        return {"image": image or IMAGE}
    if shutil.which(program or PROGRAM) is None:
        problem = f"there is no program {program}" if program else f"no image {IMAGE} here, and no {PROGRAM} on PATH"
        raise click.UsageError(f"{problem}; choose what runs the function with --image or --exec. Nothing was changed")
    return {"exec": program or PROGRAM}


def render_command(package: Path, program: Mapping[str, str]) -> str:
    """The command that runs the pipeline of a package."""
    allowed = " --allow-exec" if "exec" in program else ""
    return f"kpt fn render {shlex.quote(str(package))}{allowed}"


@dataclass(frozen=True, slots=True)
class ConfigOptions:
    """Options of what is written into the functionConfig, and whether the package declares it."""

    declare: bool
    undeclare: bool
    image: str | None
    program: str | None
    on_conflict: str
    function_identity: str
    quiet: bool


@click.command("config")
@click.argument("package", metavar="PKG", type=common.PATH)
@click.option("--to", "after", metavar="REF", help="The version of upstream to update to.")
@click.option("--from", "before", metavar="REF", help="The version to update from; by default that in upstreamLock.")
@common.output("The file to write, by default stdout.", default=STDOUT)
@click.option("--declare", is_flag=True, help=f"Write it to {CONFIG_FILE} in the package, and add the function.")
@click.option("--undeclare", is_flag=True, help="Remove both from the package.")
@program_options
@common.on_conflict
@common.function_identity
@common.quiet
@common.options_as(ConfigOptions)
def config_command(package: Path, after: str | None, before: str | None, target: Path, options: ConfigOptions) -> None:
    """Write a functionConfig with two upstream versions of the package PKG, for `kpt fn eval --fn-config`.

    It leaves out files without resources, which a function does not see; `krm-merge update` merges them too.

    With --declare it is written into the package, and the next `kpt fn render` merges once: the Kptfile's status
    records that, and later edits stay. Declaring another version replaces it.

    \b
    Example:  krm-merge config web --to v2 -o merge.yaml
              krm-merge config web --to v2 --declare && kpt fn render web
    """
    if options.declare and options.undeclare:
        raise click.UsageError("give --declare or --undeclare, not both")
    if not options.undeclare and after is None:
        raise click.UsageError("--to is missing")
    if (options.undeclare and (after or before)) or ((options.declare or options.undeclare) and target != STDOUT):
        raise click.UsageError("--declare cannot be combined with -o, nor --undeclare with any other option")
    only_looks = not (options.declare or options.undeclare)
    with opened_package(package, only_looks=only_looks) as (journal, local):
        if options.undeclare:
            changes = remove_function(local)
            journal.commit(changes, local)
            if not options.quiet:
                say("the merge is no longer declared" if changes else "no merge is declared")
            return
        assert after is not None
        results = Results()
        choices = {"onConflict": options.on_conflict, "functionIdentity": options.function_identity}
        program = chosen_program(options.image, options.program) if options.declare else {}
        following = FollowingPackage(local, package)
        original = following.at(before)[0] if before else following.fetched()
        upstream, lock = following.at(after)
        text = merge_config(original, upstream, choices, results, lock)
        show_results(results, quiet=options.quiet)
        if options.declare:
            journal.commit(add_function(local, text, program), local)
            if not options.quiet:
                say(f"declared; nothing is merged until: {render_command(package, program)}")
                say(f"to undo that: krm-merge config {shlex.quote(str(package))} --undeclare")
        else:
            write_result(target, File(text))
