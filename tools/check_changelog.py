"""Checks that commits which change the program say so in CHANGELOG.md, under the next version: the first.

Usage: check_changelog.py BASE. The commits are those of HEAD that BASE does not have. A line `Changelog: none` in the
message of one of them says that users notice nothing. Exits 1 where neither is there.
"""

from __future__ import annotations

import re
import subprocess
import sys

PROGRAM = "fn/"
CHANGELOG = "CHANGELOG.md"
NEXT_VERSION = re.compile(r"^## \[.*?\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
NONE = re.compile(r"^Changelog: none$", re.MULTILINE)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    base = git("merge-base", sys.argv[1], "HEAD").strip()
    changed = git("diff", "--name-only", base, "HEAD").splitlines()
    if not any(path.startswith(PROGRAM) for path in changed) or NONE.search(git("log", "--format=%B", f"{base}..HEAD")):
        return 0
    if next_lines("HEAD") - next_lines(base):
        return 0
    print(
        f"{PROGRAM} changed, and {CHANGELOG} has no new line under its first version. Add what users notice, or the line "
        "`Changelog: none` to a commit's message where they notice nothing.",
        file=sys.stderr,
    )
    return 1


def next_lines(commit: str) -> set[str]:
    """The lines of the next version in a commit."""
    section = NEXT_VERSION.search(git("show", f"{commit}:{CHANGELOG}"))
    return {line.strip() for line in section[1].splitlines() if line.strip()} if section is not None else set()


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
