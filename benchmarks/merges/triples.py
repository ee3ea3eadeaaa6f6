"""Real merges by recipe: which commits of a public repository hold the four versions of a file, read with git."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal
from zipfile import ZIP_LZMA, ZipFile, ZipInfo

RECIPES = Path(__file__).with_name("recipes")
ARCHIVE = Path(__file__).resolve().parents[2] / "testdata" / "merges" / "triples.zip"
VERSIONS = ("original", "upstream", "local", "people")
HEADER = "kind\tpeople\tother\tgit\tpath"
Kind = Literal["merge", "pick"]


class MissingError(Exception):
    """The mirror lacks a repository, a commit or a file."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Where the versions of a file are.

    `people` is the commit that a person made of both sides. In a merge its parents are local and upstream, and `other`
    is their merge base. In a pick (a cherry-picked or rebased commit) its parent is local, `other` is the commit that
    was picked, upstream, and that one's parent the original. `is_clean` says whether git merges the lines without a
    conflict.
    """

    repository: str
    kind: Kind
    people: str
    other: str
    is_clean: bool
    path: str

    @property
    def id(self) -> str:
        """A short name that is the same in every run."""
        return hashlib.sha1(f"{self.repository} {self.people} {self.other} {self.path}".encode()).hexdigest()[:10]

    @property
    def address(self) -> str:
        """The page of the commit that a person made."""
        return f"https://github.com/{self.repository}/commit/{self.people}"

    def revisions(self) -> tuple[str, str, str, str]:
        """The commits of original, upstream, local and the people's answer, as git names them."""
        if self.kind == "merge":
            return self.other, f"{self.people}^2", f"{self.people}^1", self.people
        return f"{self.other}^1", self.other, f"{self.people}^1", self.people

    def row(self) -> str:
        """Its line in the file of its repository."""
        git = "clean" if self.is_clean else "conflict"
        return f"{self.kind}\t{self.people}\t{self.other}\t{git}\t{self.path}"


@dataclass(frozen=True, slots=True)
class Triple:
    """The texts of a recipe."""

    recipe: Recipe
    original: bytes
    upstream: bytes
    local: bytes
    people: bytes

    @property
    def name(self) -> str:
        """The file's name without its folders."""
        return self.recipe.path.rpartition("/")[2]

    def swap(self) -> Triple:
        """The same with upstream and local exchanged."""
        return Triple(self.recipe, self.original, self.local, self.upstream, self.people)


def recipes_of(folder: Path, repositories: Sequence[str] = ()) -> list[Recipe]:
    """All recipes in a folder and in those below it, or those of some repositories."""
    recipes = []
    for file in sorted(folder.rglob("*.tsv")):
        repository = file.stem.replace("+", "/", 1)
        if repositories and repository not in repositories:
            continue
        for line in file.read_text(encoding="utf-8").splitlines()[1:]:
            recipes.append(recipe_of(repository, line))
    return recipes


def recipe_of(repository: str, row: str) -> Recipe:
    """The recipe of a line in the file of its repository."""
    kind, people, other, git, path = row.split("\t")
    return Recipe(repository, "merge" if kind == "merge" else "pick", people, other, git == "clean", path)


def by_repository(recipes: Iterable[Recipe]) -> dict[str, list[Recipe]]:
    """The recipes of each repository."""
    groups: dict[str, list[Recipe]] = {}
    for recipe in recipes:
        groups.setdefault(recipe.repository, []).append(recipe)
    return groups


def write_recipes(repository: str, recipes: Iterable[Recipe], folder: Path = RECIPES) -> Path:
    """Writes the recipes of a repository, always in the same order."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{repository.replace('/', '+')}.tsv"
    rows = sorted(recipe.row() for recipe in recipes)
    file.write_text("\n".join([HEADER, *rows, ""]), encoding="utf-8")
    return file


def store_triples(triples: Iterable[Triple], archive: Path = ARCHIVE) -> None:
    """Writes triples into an archive, always the same bytes: the four versions of each under its id."""
    with ZipFile(archive, "w", ZIP_LZMA) as stored:
        for triple in triples:
            for version in VERSIONS:
                stored.writestr(ZipInfo(f"{triple.recipe.id}/{version}"), getattr(triple, version), ZIP_LZMA)


def stored_triples(recipes: Iterable[Recipe], archive: Path = ARCHIVE) -> Iterator[Triple]:
    """The triples of recipes that are in the archive. Raises MissingError for others."""
    with ZipFile(archive) as stored:
        for recipe in recipes:
            try:
                yield Triple(recipe, *(stored.read(f"{recipe.id}/{version}") for version in VERSIONS))
            except KeyError:
                raise MissingError(f"{archive} has no {recipe.id} of {recipe.repository}; write it anew") from None


def git_directory(mirror: Path, repository: str) -> Path:
    """The git directory of a repository in a mirror: MIRROR/OWNER+NAME, bare or not, or `repo` in it."""
    place = mirror / repository.replace("/", "+")
    for folder in (place / "repo", place):
        for directory in (folder / ".git", folder):
            if (directory / "HEAD").is_file():
                return directory
    raise MissingError(f"{mirror} has no clone of {repository}; `python -m benchmarks.merges clone {mirror}` makes it")


class Objects:
    """Reads files of commits through one process of git."""

    def __init__(self, directory: Path) -> None:
        command = ["git", "--git-dir", str(directory), "cat-file", "--batch"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, revision: str, path: str) -> bytes | None:
        """A file's content at a commit; None where there is no such commit, or no such file in it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{revision}:{path}\n".encode())
        self._process.stdin.flush()
        return _answer(self._process.stdout)

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def _answer(stream: IO[bytes]) -> bytes | None:
    header = stream.readline()
    match = re.search(rb" (blob|tree|commit|tag) (\d+)$", header.rstrip())
    if match is None:
        return None
    content = stream.read(int(match[2]) + 1)[:-1]
    return content if match[1] == b"blob" else None


def triples_of(recipes: Iterable[Recipe], mirror: Path) -> Iterator[Triple]:
    """The texts of recipes, from clones; raises MissingError where a clone lacks one."""
    for repository, its_recipes in by_repository(recipes).items():
        objects = Objects(git_directory(mirror, repository))
        try:
            for recipe in its_recipes:
                texts = [objects.read(revision, recipe.path) for revision in recipe.revisions()]
                original, upstream, local, people = texts
                if original is None or upstream is None or local is None or people is None:
                    raise MissingError(f"the clone of {repository} lacks {recipe.path} of {recipe.people}")
                yield Triple(recipe, original, upstream, local, people)
        finally:
            objects.close()


def subject(triple: Triple) -> str:
    """What a file is: kustomization, template, Tekton, resource, values, CI or other."""
    path, name = triple.recipe.path, triple.name
    text = triple.original.decode("utf-8", "replace")
    if re.fullmatch(r"[Kk]ustomization(\.ya?ml)?", name):
        return "kustomization"
    if re.search(r"\{\{[-\s]*[.a-z$]", text) and ("/templates/" in path or re.search(r"^\s*\{\{", text, re.MULTILINE)):
        return "template"
    if re.search(r"^apiVersion:", text, re.MULTILINE) and re.search(r"^kind:", text, re.MULTILINE):
        return "Tekton" if re.search(r"^apiVersion: *['\"]?tekton\.dev", text, re.MULTILINE) else "resource"
    if re.fullmatch(r"values.*\.ya?ml", name):
        return "values"
    is_ci = re.search(r"\.github/|\.circleci/|\.azure|(^|/)(jobs|\.?prow)/|(^|/)(\.travis|azure-pipelines)\.yml$", path)
    return "CI" if is_ci else "other"
