"""The laws on packages as files: resources in several files, subpackages, text files, moves between files."""

from __future__ import annotations

import random
from pathlib import PurePosixPath

import yaml
from hypothesis import given
from hypothesis import strategies as st

from generated.packages import Package, edit_package, package
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File, Tree
from krm_merge.packages.merge.other_files import with_markers
from krm_merge.packages.merge.trees import MergedTree, merge_trees

FOLDERS = ["", "", "sub/", "sub/deep/", "plain/"]
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n"
LINES = ["one", "two", "three", "four", "five", "six"]
SEED = st.integers(0, 2**48)


class Version:
    """A package as resources with their files, which edits change, and as a tree."""

    def __init__(self, resources: Package, places: dict[str, str], texts: dict[str, str]) -> None:
        self.resources = resources
        self.places = places
        self.texts = texts

    def tree(self) -> dict[str, File]:
        files: dict[str, list[str]] = {}
        for resource in self.resources:
            name = str(resource["metadata"]["name"])
            text = str(yaml.safe_dump(resource, sort_keys=False))
            files.setdefault(self.places.get(name, f"{name}.yaml"), []).append(text)
        texts = {path: "---\n".join(documents) for path, documents in files.items()} | self.texts
        folders = {str(PurePosixPath(path).parent) for path in texts}
        for folder in ("sub", "sub/deep"):
            if any(at == folder or at.startswith(f"{folder}/") for at in folders):
                texts[f"{folder}/Kptfile"] = KPTFILE.format(name=folder)
        texts["Kptfile"] = KPTFILE.format(name="root")
        return {path: File(text.encode()) for path, text in texts.items()}


def first(rng: random.Random) -> Version:
    resources = package(rng) + [r for r in package(rng) if r["kind"] != "CustomResourceDefinition"]
    for number, resource in enumerate(resources):
        resource["metadata"]["name"] = f"r{number}"
    places = {f"r{n}": rng.choice(FOLDERS) + rng.choice(["a.yaml", "b.yaml"]) for n in range(len(resources))}
    return Version(resources, places, {"README.md": text(rng), "plain/run.sh": text(rng)})


def text(rng: random.Random) -> str:
    return "".join(f"{line}\n" for line in LINES if rng.random() < 0.8)


def change(rng: random.Random, before: Version) -> Version:
    resources, places, texts = (
        edit_package(rng, before.resources, rng.randint(0, 4)),
        dict(before.places),
        dict(before.texts),
    )
    if places and rng.random() < 0.3:
        # Moved within its package: to another one it is another resource.
        name = rng.choice(list(places))
        places[name] = str(PurePosixPath(places[name]).parent / "moved.yaml")
    if rng.random() < 0.4:
        path = rng.choice(["README.md", "plain/run.sh", "new.txt"])
        # A file with the lines of one that is gone would be that one, moved (R13).
        texts[path] = text(rng).replace("e", "E") if path == "new.txt" else text(rng)
    if rng.random() < 0.1:
        del texts["README.md"]
    return Version(resources, places, texts)


def merge(original: Tree, upstream: Tree, local: Tree, policy: str = "upstream") -> MergedTree:
    return merge_trees(original, upstream, local, PackageMerger(Policy("local" if policy == "local" else "upstream")))


@given(SEED)
def test_what_local_left_alone_becomes_upstreams(seed: int) -> None:
    rng = random.Random(seed)
    before = first(rng)
    upstream = change(rng, before)
    # What upstream moves stays where local has it (R1): then the files differ, not the resources.
    upstream.places = {**before.places, **{n: p for n, p in upstream.places.items() if n not in before.places}}
    original, target = before.tree(), upstream.tree()
    merged = merge(original, target, original)
    assert dict(Changed(original, merged.changes)) == target
    assert not [result for result in merged.results if result.severity != "info"]


@given(SEED)
def test_what_upstream_left_alone_stays(seed: int) -> None:
    rng = random.Random(seed)
    before = first(rng)
    original, local = before.tree(), change(rng, before).tree()
    merged = merge(original, original, local)
    assert not merged.changes
    assert not list(merged.results)


@given(SEED, st.sampled_from(["upstream", "local"]))
def test_a_second_merge_changes_nothing(seed: int, policy: str) -> None:
    rng = random.Random(seed)
    before = first(rng)
    original, upstream, local = before.tree(), change(rng, before).tree(), change(rng, before).tree()
    merged = dict(Changed(local, merge(original, upstream, local, policy).changes))
    assert merge(original, upstream, merged, policy).changes == {}


@given(SEED)
def test_no_resource_is_lost_or_doubled(seed: int) -> None:
    rng = random.Random(seed)
    before = first(rng)
    original, upstream, local = before.tree(), change(rng, before).tree(), change(rng, before).tree()
    merged = merge(original, upstream, local)
    after = identities(Changed(local, merged.changes))
    assert len(after) == len(set(after))
    sides = [set(identities(tree)) for tree in (original, upstream, local)]
    # What a side added is there; what is gone was deleted by a side.
    assert (sides[1] | sides[2]) - sides[0] <= set(after) <= sides[1] | sides[2] | sides[0]
    assert sides[0] & sides[1] & sides[2] <= set(after)


def identities(tree: Tree) -> list[tuple[str, str]]:
    names = []
    for path, file in tree.items():
        if path.endswith(".yaml"):
            names += [(d["kind"], d["metadata"]["name"]) for d in yaml.safe_load_all(file.data) if d]
    return names


@given(st.lists(st.sampled_from(LINES)), st.lists(st.sampled_from(LINES)), st.booleans())
def test_each_side_can_be_taken_from_between_the_markers(ours: list[str], theirs: list[str], crlf: bool) -> None:
    newline = "\r\n" if crlf else "\n"
    mine, other = ("".join(line + newline for line in lines).encode() for lines in (ours, theirs))
    merged, conflicts = with_markers(mine, other, 7)
    assert (conflicts == 0) == (mine == other)
    assert [b"".join(side) for side in sides_of(merged)] == [mine, other]


def sides_of(merged: bytes) -> tuple[list[bytes], list[bytes]]:
    sides: tuple[list[bytes], list[bytes]] = ([], [])
    inside: tuple[int, ...] = (0, 1)
    for line in merged.splitlines(keepends=True):
        if line.startswith(b"<<<<<<< "):
            inside = (0,)
        elif line.startswith(b"======="):
            inside = (1,)
        elif line.startswith(b">>>>>>> "):
            inside = (0, 1)
        else:
            for at in inside:
                sides[at].append(line)
    return sides
