"""The program `krm-merge`: without arguments a KRM function, with a command a tool for people."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krm_merge.krm.docs import Docs


def main() -> int:
    """Runs the program and returns its exit code."""
    # Trees have no cycles: collecting garbage on the way only costs time.
    gc.disable()
    argv = sys.argv[1:]
    if argv == ["--version"]:
        from krm_merge import __version__

        print(f"krm-merge {__version__}")
        return 0
    if argv and not argv[0].startswith("-"):
        return _command(argv)
    from krm_merge.functions import dispatch
    from krm_merge.krm.program import run

    try:
        return run(dispatch, argv, docs=_docs)
    except BrokenPipeError:
        return 1


def _command(argv: list[str]) -> int:
    try:
        from krm_merge.cli.app import main as command
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        print(f"krm-merge {argv[0]} needs more than the function: pip install 'krm-merge[cli]'", file=sys.stderr)
        return 2
    try:
        # The list of commands; `--help` alone is the function's.
        return command(["--help"] if argv == ["help"] else argv)
    except BrokenPipeError:
        return 1


def _docs() -> Docs:
    from pathlib import Path

    from krm_merge.krm.docs import Docs

    return Docs.beside(Path(__file__).parent)


if __name__ == "__main__":
    sys.exit(main())
