"""Runs a function as kpt runs it: ResourceList on stdin and stdout, exit code, `--help`, `--doc`.

Work on many items is done on all processors.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, BinaryIO, TextIO, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.krm.resource import ResourceError
from krm_merge.krm.resource_list import ResourceList
from krm_merge.safe_text import internal_error, let_go, line
from krm_merge.startup import frozen, pattern
from krm_merge.text import plain_lines, read, to_value, usual_line_end

if TYPE_CHECKING:
    from pathlib import Path
import os
from contextlib import suppress
from typing import TypeVar

_SECTION = pattern(r"<!--mdtogo:(Short|Long|Examples)\s*-->\n?(.*?)(?:<!--mdtogo(?::End)?\s*-->|\Z)", re.DOTALL)
_METADATA_FIELDS = ("image", "description", "tags", "sourceURL", "examplePackageURLs", "license", "hidden")


@frozen
class Docs:
    """README and metadata as text. The README's sections lie between `<!--mdtogo:Short-->` and `<!--mdtogo-->`.

    `usage` is for people who ask for help; without it, they get the README's sections.
    """

    readme: str = ""
    metadata: str = ""
    usage: str = ""

    @classmethod
    def in_folder(cls, folder: Path) -> Docs:
        """The README.md and metadata.yaml of a folder; no docs where it lacks one of them."""
        readme, metadata = folder / "README.md", folder / "metadata.yaml"
        if readme.is_file() and metadata.is_file():
            return cls(readme.read_text("utf-8"), metadata.read_text("utf-8"))
        return cls()

    def sections(self) -> dict[str, str]:
        """The README's sections by their marker in lower case."""
        return {name.lower(): body.strip() for name, body in _SECTION.findall(self.readme)}

    def text(self) -> str:
        """For people: the usage, or else the short section, the long one, the examples."""
        if self.usage:
            return self.usage
        sections = self.sections()
        parts = [sections.get("short", ""), sections.get("long", "")]
        if sections.get("examples"):
            parts.append("Examples:\n\n" + sections["examples"])
        return "".join(part + "\n\n" for part in parts if part).rstrip("\n") + "\n"

    def json(self) -> str:
        """For programs: the fields of the Go SDK's `--doc`."""
        import json

        sections = self.sections()
        metadata = to_value(read(self.metadata)) if self.metadata else {}
        fields = metadata if isinstance(metadata, dict) else {}
        doc: dict[str, object] = {name: sections.get(name, "") for name in ("short", "long", "examples")}
        doc.update({name: fields[name] for name in _METADATA_FIELDS if name in fields})
        return json.dumps(doc, indent=2, ensure_ascii=False) + "\n"


Function: TypeAlias = Callable[[ResourceList], None]


@frozen
class ProgramOutcome:
    """The result of a run: stdout, the exit code, and the first message on stderr. `output` is empty without a list."""

    output: bytes
    exit_code: int
    message: str = ""


def process(function: Function, data: bytes) -> ProgramOutcome:
    """Runs a function on the bytes of a ResourceList.

    The function changes the list and reports to its results. If it reports an error, or raises InputError or
    ResourceError, the items are written unchanged, with all results, and the exit code is 1: kpt then shows the results
    and writes no file. Input that is not a ResourceList gives no output. The output has the line ends of most lines of
    the input.
    """
    line_end = b"\n"
    if b"\r" in data:
        # W5. kpt writes LF, so that its runs do without this import.
        line_end, data = usual_line_end(data), plain_lines(data)
    try:
        resource_list = ResourceList.parse(data)
    except KrmMergeError as error:
        return ProgramOutcome(b"", 1, str(error))
    # The list holds all of it: drop one copy of a large package.
    del data
    try:
        function(resource_list)
    except ResourceError as error:
        resource_list.results.error(line(str(error)), file=error.file, path=error.path)
    except KrmMergeError as error:
        resource_list.results.error(line(str(error)))
    resource_list.results.escape(as_lines=False)
    output = _written(resource_list)
    errors = resource_list.results.errors
    if line_end != b"\n":
        output = output.replace(b"\n", line_end)
    if not errors:
        return ProgramOutcome(output, 0)
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    first = errors[0]
    place = f"{first.file}: " if first.file and not first.message.startswith(first.file) else ""
    return ProgramOutcome(output, 1, f"{place}{first.message}{more}")


def _written(resource_list: ResourceList) -> bytes:
    """The list as bytes. W4: refused means untouched."""
    results = resource_list.results
    if not results.errors:
        try:
            return resource_list.serialize()
        except ResourceError as error:
            results.error(line(str(error)), file=error.file, path=error.path, rule="W2")
    return resource_list.serialize(as_it_came=True)


def run(
    function: Function,
    argv: Sequence[str] | None = None,
    *,
    docs: Callable[[], Docs] = Docs,
    stdin: BinaryIO | None = None,
    stdout: BinaryIO | None = None,
    stderr: TextIO | None = None,
) -> int:
    """The main program of a function; returns the exit code.

    `--help` prints the docs as kpt shows them, `--doc` the same as JSON; `docs` is asked for them only then. Without
    arguments the function reads stdin; where that is a terminal, the usage is printed instead of waiting.
    """
    argv = sys.argv[1:] if argv is None else argv
    out = stdout or sys.stdout.buffer
    err = stderr or sys.stderr
    if "--help" in argv or "-h" in argv:
        out.write(docs().text().encode())
        return 0
    if "--doc" in argv:
        out.write(docs().json().encode())
        return 0
    if argv:
        err.write(f"unknown argument {line(argv[0])}; the function reads a ResourceList on stdin, see --help\n")
        return 2
    source = stdin or sys.stdin.buffer
    if source.isatty():
        err.write(docs().text() or "a ResourceList is expected on stdin\n")
        return 2
    size = None
    try:
        contents = [source.read()]
        size = len(contents[0])
        # Nothing here holds it while the function runs.
        outcome = process(function, contents.pop())
    except Exception as error:
        if isinstance(error, MemoryError):
            let_go(error)
        # W4: on an internal error nothing is written, and no traceback reaches a user who did not ask for it.
        outcome = ProgramOutcome(b"", 1)
        err.write(internal_error(error, "no file was changed", size) + "\n")
    if outcome.message:
        err.write(line(outcome.message) + "\n")
    err.flush()
    # W4: one write, from a complete result; a broken stdout must not look like success.
    out.write(outcome.output)
    out.flush()
    return outcome.exit_code


Item = TypeVar("Item")
Done = TypeVar("Done")

WORTH_IT = 200
"""Items for each process below which another process costs more than it saves."""

_PR_SET_PDEATHSIG = 1


def in_parallel(work: Callable[[Sequence[Item]], Done], items: Sequence[Item]) -> list[Done]:
    """Splits the items into parts, runs `work` on each, and returns its results in the order of the items.

    Parts may run in other processes: changes that `work` makes are lost there, and its results are pickled. A part
    whose process fails runs again in this process, so that its exceptions are raised here.
    """
    processes = min(processors(), len(items) // WORTH_IT)
    if processes < 2:
        return [work(items)]
    size = -(-len(items) // processes)
    parts = [items[at : at + size] for at in range(0, len(items), size)]
    # Only here are they worth their time: every run imports this module.
    import pickle

    children = [_start(work, part) for part in parts[1:]]
    try:
        done = [work(parts[0])]
    finally:
        # Whatever happens here: no process and no pipe is left behind.
        answers = [None if child is None else _answer(*child) for child in children]
    for answer, part in zip(answers, parts[1:], strict=True):
        done.append(work(part) if answer is None else pickle.loads(answer))
    return done


def processors() -> int:
    """How many processes of this program can work at once."""
    if not hasattr(os, "fork"):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _answer(child: int, pipe: int) -> bytes | None:
    """The output of a process, None where it failed."""
    with open(pipe, "rb") as source:
        data = source.read()
    _, status = os.waitpid(child, 0)
    return data if data and os.waitstatus_to_exitcode(status) == 0 else None


def _start(work: Callable[[Sequence[Item]], Done], part: Sequence[Item]) -> tuple[int, int] | None:
    """A process that does a part, and the pipe that it writes to; None where there can be no more processes."""
    import pickle

    reader, writer = os.pipe()
    parent = os.getpid()
    try:
        child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        return None
    if child:
        os.close(writer)
        return child, reader
    data = b""
    try:
        os.close(reader)
        end_with_parent(parent)
        data = pickle.dumps(work(part))
        with open(writer, "wb") as target:
            target.write(data)
    finally:
        # Nothing of the parent's (buffers, handlers) may run twice.
        os._exit(0 if data else 1)


def end_with_parent(parent: int) -> None:
    """Lets this process be ended with its parent: nobody waits for its answer then. Linux only."""
    import ctypes
    import signal

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit
