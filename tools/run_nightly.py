"""Tries new examples with every tool that does, by day or night, and says how to repeat what each of them finds.

python tools/run_nightly.py                              # all parts, one after the other; hours
python tools/run_nightly.py kills lives --seed 7         # these two, from this seed on
python tools/run_nightly.py fuzz --count 60 three-sides  # one of them, so much of it, and what else its tool takes
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Part:
    """A tool, with how much of it a night has; pytest has no such number."""

    script: str
    count: int | None
    what: str

    def command(self, seed: int, count: int | None, more: list[str]) -> list[str]:
        """The command that runs it from a seed on."""
        if self.count is None:
            return [sys.executable, "-m", self.script, "--numprocesses=auto", "--dist=worksteal", *more]
        return [sys.executable, self.script, str(count or self.count), *more, f"--seed={seed}"]


PARTS = {
    "properties": Part("pytest", None, "all tests, forty times as many random examples"),
    "packages": Part("tests/packages/merge/test_never_worse_than_git.py", 20_000, "generated packages beside git"),
    "fuzz": Part("tools/run_fuzzing.py", 3600, "seconds of texts made of testdata/fuzz/"),
    "lists": Part("tools/run_hostile_lists.py", 20_000, "changed ResourceLists, every fortieth with the program"),
    "kills": Part("tools/run_kills.py", 500, "commands killed and interrupted"),
    "lives": Part("tools/run_lives.py", 10_000, "lives of Components"),
    "years": Part("tools/run_years.py", 100, "repositories on each of three forges, through a year"),
    "mutants": Part("tools/run_mutants.py", 300, "changed places of the code"),
}


def main() -> int:
    """Runs the parts, the next one after a failure too; returns 1 if one failed."""
    parts = "\n".join(f"  {name:10}  {part.count or ''} {part.what}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(
        description=f"{__doc__}\n{parts}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="by default all")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the clock's by default")
    parser.add_argument("--count", type=int, help="how much of one part")
    options, more = parser.parse_known_args()
    names = [name for name in options.parts if name in PARTS]
    more = [word for word in options.parts if word not in PARTS] + more
    if (more or options.count is not None) and len(names) != 1:
        parser.error(f"{' '.join(more) or '--count'} is for one part; the parts are {', '.join(PARTS)}")
    failed = []
    for name in names or PARTS:
        print(f"=== {name}, seed {options.seed}", flush=True)
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
        if name == "properties":
            environment["KRM_MERGE_SEED"] = str(options.seed)
        command = PARTS[name].command(options.seed, options.count, more)
        if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode != 0:
            failed.append(name)
    if failed:
        print(
            f'failed: {", ".join(failed)}; the whole again: make nightly PARTS="{" ".join(failed)}" SEED={options.seed}'
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
