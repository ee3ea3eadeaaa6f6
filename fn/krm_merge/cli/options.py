"""Options and arguments that several commands have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from krm_merge.krm import KPTFILE
from krm_merge.packages import PackageError, packages_below
from krm_merge.report import FORMS
from krm_merge.startup import frozen

if TYPE_CHECKING:
    from krm_merge.merge import OnDelete
    from krm_merge.usecases import MergeChoices, OnConflictOrMarkers


_Command = TypeVar("_Command", bound=Callable[..., Any])


def options_as(kind: type[Any], name: str = "options") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Hands a command those of its options that are fields of a value class as one value of this name."""
    fields: tuple[str, ...] = kind.__match_args__

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*arguments: object, **values: object) -> None:
            value = kind(**{field: values.pop(field) for field in fields})
            command(*arguments, **{name: value}, **values)

        return run

    return decorate


def combined(*options: Callable[[Callable[..., None]], Callable[..., None]]) -> Callable[..., Any]:
    """Several decorators of commands as one; help shows options in this order."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
PATH_OR_STDIN = click.Path(path_type=Path, allow_dash=True)


def choice_option(values: Sequence[str], *flags: str, default: str = "", help: str) -> Callable[[_Command], _Command]:
    """An option with one of some values, by default the first of them; its help shows the default."""
    return click.option(*flags, type=click.Choice(values), default=default or values[0], show_default=True, help=help)


_WINNERS = ["upstream", "local", "fail"]
_WINS = "Which side wins if both changed a value; fail makes every conflict an error and changes no file"

on_conflict = choice_option(_WINNERS, "--on-conflict", help=f"{_WINS}.")
on_conflict_or_markers = click.option(
    "--on-conflict",
    type=click.Choice([*_WINNERS, "markers"]),
    help=f"{_WINS}; markers leaves both values in the files, between git's conflict markers. Choices and rules take "
    "precedence. Without this option the package's MergePolicy decides; if it does not, a conflict stops the command "
    "and no file changes.",
)
on_delete = click.option(
    "--on-delete",
    type=click.Choice(["upstream", "local"]),
    help="Which side wins if one deleted what the other changed; by default as --on-conflict says.",
)
rules = click.option(
    "--rules",
    "rules_file",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="A YAML file with `rules` and `listKeys`, as in a functionConfig.",
)
function_identity = choice_option(
    ["document", "smart"],
    "--function-identity",
    default="smart",
    help="How to recognise functions of a pipeline that have no names.",
)
allow_address = click.option(
    "--allow-address",
    "allowed",
    multiple=True,
    metavar="ADDRESS",
    help="Allow subpackages that upstream adds to be fetched from this address. Repeatable.",
)
show_diff = click.option("--diff", "with_diff", is_flag=True, help="Print the difference from local.")
quiet = click.option("-q", "--quiet", is_flag=True, help="Print only warnings and errors.")
form = choice_option(
    ["text", "json"], "--format", "form", help="With json, print one JSON object on stdout, errors included."
)


def _with_known_suffixes(context: click.Context, option: click.Parameter, files: tuple[Path, ...]) -> tuple[Path, ...]:
    for file in files:
        if file.suffix not in FORMS:
            raise click.BadParameter(f"{file}: the suffix says the form of a report; choose from {', '.join(FORMS)}")
    return files


reports = click.option(
    "--report",
    "reports",
    type=FILE,
    multiple=True,
    callback=_with_known_suffixes,
    help=f"Also write the decisions to this file, in the format of its suffix: {', '.join(FORMS)}. Repeatable.",
)
record = click.option(
    "--record",
    is_flag=True,
    help="Record UPSTREAM in a Vendorfile in LOCAL, so that the next merge needs no ORIGINAL.",
)
version = click.option("--version", default="", metavar="VERSION", help="The version of UPSTREAM, for the Vendorfile.")
source = click.option("--source", default="", metavar="TEXT", help="Where UPSTREAM comes from, for the Vendorfile.")


def output(description: str, *, default: Path | None = None) -> Callable[[_Command], _Command]:
    """The option for the place of the result: a path in every command."""
    return click.option(
        "-o",
        "--output",
        "target",
        metavar="PATH",
        type=PATH_OR_STDIN,
        default=default,
        help=description,
    )


class Subcommands(click.Group):
    """A command of several; its help has the first sentence of each as a whole, where click cuts it off."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(_WHOLE)) for name, command in commands if command])


_WHOLE = 1000
"""More characters than a first sentence has."""


NAMES_LAST = {"allow_interspersed_args": False}
"""For commands that git calls with names of files: from the first one on, all are names, whatever they are.

Anybody who commits a file chooses its name: `--on-conflict=upstream` must not win a conflict.
"""


@frozen
class MergeOptions:
    """Options of both `merge` and `update`: how conflicts are settled, and how the outcome is shown."""

    with_diff: bool
    on_conflict: OnConflictOrMarkers | None
    on_delete: OnDelete | None
    rules_file: Path | None
    function_identity: str
    quiet: bool
    form: str
    reports: tuple[Path, ...]

    def choices(self) -> MergeChoices:
        """How conflicts are settled; what nothing settles stops the merge. Raises PackageError."""
        from krm_merge.usecases import MergeChoices

        return MergeChoices.of(
            self.on_conflict,
            self.function_identity,
            self.rules_file,
            on_delete=self.on_delete,
            otherwise="fail",
        )

    def of_resolve(self) -> list[str]:
        """Those of the options that `resolve` needs to see the same conflicts."""
        options = [] if self.rules_file is None else ["--rules", str(self.rules_file)]
        return options if self.function_identity == "smart" else [*options, "--function-identity", "document"]


merge_options = combined(
    *(show_diff, on_conflict_or_markers, on_delete, rules, function_identity, quiet, form, reports),
    options_as(MergeOptions),
)


@frozen
class Permissions:
    """What a user allows an update to do: change what is not committed, and fetch from addresses that are new."""

    allow_dirty: bool
    allowed: tuple[str, ...]

    def words(self) -> list[str]:
        """They as options."""
        addresses = [word for address in self.allowed for word in ("--allow-address", address)]
        return [*(["--allow-dirty"] if self.allow_dirty else []), *addresses]


permissions = combined(
    click.option("--allow-dirty", is_flag=True, help="Accept a package with uncommitted changes."),
    allow_address,
    options_as(Permissions, "permissions"),
)


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
    packages: list[Path] = []
    for path in paths:
        if path.is_file():
            # The nearest directory above it that has a Kptfile, if any.
            packages += [folder for folder in path.parents if (folder / KPTFILE).is_file()][:1]
        elif path.exists():
            packages += packages_below(path)
        else:
            raise PackageError(f"{path}: there is no such file or directory")
    return list(dict.fromkeys(packages))
