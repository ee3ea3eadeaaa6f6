"""Copies Python, its standard library and a virtual environment to a folder that is the file system of an image.

    python3 image_files.py /opt/fn /rootfs

Nothing else is copied but the shared libraries that these need, the loader's cache, and the accounts: no shell, no
package manager. dpkg's record of each package that a library comes from goes to `var/lib/dpkg/status.d`, where scanners
of images look for packages, and its license comes with it. For Debian and images made from it; run there, as root.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

LEFT_OUT = {"test", "tests", "idlelib", "lib2to3", "turtledemo", "tkinter", "ensurepip", "pydoc_data", "venv"}
"""Folders of the standard library that no function imports."""
PACKAGES = {"site-packages", "dist-packages"}
SETTINGS = ("/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/os-release")
_LIBRARY = re.compile(r"(?:=> |^\s*)(/\S+)", re.MULTILINE)


class ImageFiles:
    """The files of an image that is being made in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.copied: set[str] = set()

    def copy(self, path: str) -> None:
        """Copies a file, and the symbolic links that lead to it, as they are."""
        at = "/"
        parts = path.strip("/").split("/")
        while parts:
            at = os.path.join(at, parts.pop(0))
            target = self.root / at.lstrip("/")
            if os.path.islink(at):
                link = os.readlink(at)
                if not target.is_symlink():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.symlink_to(link)
                parts = os.path.normpath(os.path.join(os.path.dirname(at), link)).strip("/").split("/") + parts
                at = "/"
            elif os.path.isdir(at):
                target.mkdir(mode=0o755, exist_ok=True)
            elif at not in self.copied:
                shutil.copy2(at, target)
                self.copied.add(at)

    def copy_tree(self, folder: Path, left_out: Iterable[str] = ()) -> None:
        """Copies all files below a folder, but for sub-folders of these names directly in it."""
        for at, folders, names in os.walk(folder):
            if Path(at) == folder:
                folders[:] = [name for name in folders if name not in left_out]
            for name in [*names, *(name for name in folders if os.path.islink(os.path.join(at, name)))]:
                self.copy(os.path.join(at, name))

    def copy_libraries(self) -> None:
        """Copies the shared libraries that the copied files need."""
        binaries = [path for path in self.copied if path.endswith(".so") or ".so." in path or os.access(path, os.X_OK)]
        done = subprocess.run(["ldd", *sorted(binaries)], capture_output=True, text=True, check=False)
        for library in sorted(set(_LIBRARY.findall(done.stdout)) - set(binaries)):
            if os.path.isfile(library):
                self.copy(library)

    def copy_records(self) -> None:
        """Writes dpkg's record of each package that a copied file belongs to, and copies its license."""
        query = ["dpkg-query", "--search", *sorted(self.copied | {path.removeprefix("/usr") for path in self.copied})]
        done = subprocess.run(query, capture_output=True, text=True, check=False)
        names = {name for line in done.stdout.splitlines() for name in line.partition(": ")[0].split(", ")}
        records = self.root / "var/lib/dpkg/status.d"
        records.mkdir(parents=True)
        for name in sorted(names):
            bare = name.partition(":")[0]
            record = subprocess.run(["dpkg-query", "--status", name], capture_output=True, text=True, check=True).stdout
            (records / bare).write_text(record, encoding="utf-8")
            if os.path.isfile(license_file := f"/usr/share/doc/{bare}/copyright"):
                self.copy(license_file)


def main(environment: Path, root: Path) -> None:
    """Copies everything; `environment` is a virtual environment of the Python that runs this."""
    files = ImageFiles(root)
    root.mkdir(parents=True)
    for folder in {Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("platstdlib"))}:
        files.copy_tree(folder, LEFT_OUT | PACKAGES)
    files.copy_tree(environment)
    files.copy_libraries()
    for path in SETTINGS:
        if os.path.isfile(path):
            files.copy(path)
    files.copy_records()
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
