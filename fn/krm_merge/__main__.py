"""The program `krm-merge`: without arguments a KRM function, with a command a command line tool."""

from __future__ import annotations

import gc
import os
import signal
import sys

from krm_merge import TYPE_CHECKING, __version__

if TYPE_CHECKING:
    from krm_merge.krm import Docs
    from krm_merge.usecases import GitMerge

_COMPLETION = "_KRM_MERGE_COMPLETE"
"""The environment variable by which a shell asks for completions; it then gives no arguments."""

_LONG_LIVED = (["fleet"], ["mergetool"], ["resolve"])
"""Commands that may live for hours: a server, or a run over thousands of packages."""


def program() -> int:
    """Runs the program to the end of its process, and returns its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # During imports SIGINT ends the process as SIGTERM does, without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from krm_merge import interrupts

    try:
        with interrupts.as_exceptions(to_the_end=True):
            return main()
    except interrupts.Interrupted:
        # Nothing was done yet.
        return interrupts.EXIT_CODE


def main() -> int:
    """Runs the program and returns its exit code."""
    # Trees have no cycles: garbage collection would only cost time, during the run and at its end.
    if sys.argv[1:2] not in _LONG_LIVED:
        gc.disable()
    try:
        return _run(sys.argv[1:])
    finally:
        gc.freeze()


def _run(argv: list[str]) -> int:
    from krm_merge import interrupts, standard_output

    # Of a process without stdout, a file that is opened later would get its descriptor.
    if sys.stdout is None:
        print("stdout is closed; nothing was done", file=sys.stderr)
        return standard_output.EXIT_CODE
    if argv or _COMPLETION in os.environ:
        # The result of the function is its stdout: that nobody has it is a failure.
        standard_output.outlive_readers()
    try:
        with interrupts.as_exceptions():
            is_command = (argv and not argv[0].startswith("-")) or _COMPLETION in os.environ
            code = _command(argv) if is_command else _function(argv)
            sys.stdout.flush()
            interrupts.ignore_further()
            return code
    except interrupts.Interrupted:
        print("interrupted; no file was changed", file=sys.stderr)
        return interrupts.EXIT_CODE
    except OSError as error:
        standard_output.give_up()
        print(standard_output.problem(error), file=sys.stderr)
        return standard_output.EXIT_CODE


def _function(argv: list[str]) -> int:
    if argv == ["--version"]:
        print(f"krm-merge {__version__}")
        return 0
    from krm_merge.functions import dispatch
    from krm_merge.krm import run

    return run(dispatch, argv, docs=_docs)


def _command(argv: list[str]) -> int:
    if argv == ["help"]:
        return _function(["--help"])
    merge = _merge_for_git(argv)
    if merge is not None and merge.is_silent:
        return 0
    try:
        from krm_merge.cli.app import main as command
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        name = argv[0] if argv else "completion"
        install = "in a checkout, install them with: pip install '.[cli]'"
        print(f"krm-merge {name} needs the command line tools; {install}", file=sys.stderr)
        return 2
    return command(argv, merge)


def _merge_for_git(argv: list[str]) -> GitMerge | None:
    """The merge that git asks for by the documented line, written if it is silent; None where it fails.

    git starts the program for each file, and hardly any has something for the command to report.
    """
    match argv:
        case ["merge-driver", "--marker-size", size, "--", base, ours, theirs, name] if size.strip("0").isdecimal():
            pass
        case _:
            return None
    from pathlib import Path

    from krm_merge.errors import KrmMergeError
    from krm_merge.usecases import MergeChoices, merge_for_git

    choices = MergeChoices.of(None, "smart", None, of_branches=True, otherwise="markers")
    try:
        merge = merge_for_git((Path(base), Path(ours), Path(theirs)), name, choices, int(size))
        if merge.is_silent:
            merge.write()
        return merge
    except (KrmMergeError, OSError):
        # The command says what it is, as for all commands.
        return None


def _docs() -> Docs:
    import os
    from pathlib import Path

    from krm_merge.cli.help_pages import overview, own_docs
    from krm_merge.krm import Docs
    from krm_merge.startup import replace

    # An image of one function has the docs of that function.
    if folder := os.environ.get("KRM_MERGE_DOCS"):
        return Docs.in_folder(Path(folder))
    return replace(own_docs(), usage=overview())


if __name__ == "__main__":
    sys.exit(program())
