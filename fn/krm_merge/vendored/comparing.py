"""Compares manifests in one file with files that somebody laid out."""

from __future__ import annotations

from krm_merge.packages.files.tree import File, Tree, is_kptfile
from krm_merge.vendored.alignment import ManifestVersion, aligned
from krm_merge.vendored.documents import resources_of_file, resources_of_tree


def laid_out_alike(file: File, name: str, directory: Tree, directory_name: str) -> tuple[Tree, Tree]:
    """A file of manifests in the layout of a directory (R7), and the files of that directory that hold resources.

    Messages use the names. Raises PackageError.
    """
    version = ManifestVersion(name, resources_of_file(name, file.data))
    layout = aligned(version, version, directory, directory_name, is_file=False)
    paths = {found.member.place for found in resources_of_tree(directory).resources}
    return layout.original, {path: directory[path] for path in directory if path in paths or is_kptfile(path)}
