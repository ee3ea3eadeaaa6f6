"""Runs before krm-merge in the zipapp: says so where its compiled dependencies are not for this Python."""

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

# shiv defines it: the directory that the archive was unpacked to.
compiled = Path(site_packages, "pydantic_core")  # type: ignore[name-defined]  # noqa: F821
# The first ending is that of this version and system; the last one, of any.
if not any(file.name.endswith(EXTENSION_SUFFIXES[0]) for file in compiled.iterdir()):
    made_for = ", ".join(sorted(file.name for file in compiled.iterdir() if file.suffix in (".so", ".pyd")))
    print(
        f"krm-merge.pyz was made for another version of Python or another system ({made_for}), "
        f"and this is Python {sys.version_info.major}.{sys.version_info.minor} on {sys.platform}; "
        "run it with that Python, or make it here: make zipapp",
        file=sys.stderr,
    )
    sys.exit(3)
