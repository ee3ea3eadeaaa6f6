"""What is fuzzed, and what holds whatever comes in: a target takes texts, and raises where it does not hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from textwrap import indent

from hypothesis.strategies import SearchStrategy

from fuzz import mutations
from generated.facts import facts
from krm_merge.functions import process
from krm_merge.packages.files.tree import File, is_kptfile
from krm_merge.packages.merge.side import path_of
from krm_merge.patch import PatchError, SchemaShape
from krm_merge.patch.patches import Modes, read_patches
from krm_merge.patch.strategic.elements import first_directive
from krm_merge.schema.builtin import builtin_schema
from krm_merge.text.document import rendered
from krm_merge.text.editing.editor import Editor
from krm_merge.text.reading.nodes import MappingNode, SequenceNode, TextError, Value, from_value, to_value, value_of
from krm_merge.text.reading.reader import read, read_all
from krm_merge.text.reading.stream import plain_lines
from packages.merge.beside_git import Winner, failures, merge

LIST = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
VALUES: tuple[Value, ...] = ("new", 1, None, "a: b", ["x"], {"y": "z"})
WINNERS: tuple[Winner, ...] = ("upstream", "local")
CONFIG = "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: MergePackage\n"


def resource_list(text: str) -> None:
    """Refused, or read; refused means that the items leave as they came, and a second reading gives the same."""
    data = text.encode("utf-8", "surrogatepass")
    outcome = process(data)
    assert outcome.exit_code == 0 or outcome.message
    if outcome.output:
        assert process(outcome.output).exit_code in (0, 1)


def text_editor(text: str) -> None:
    """An edited text has the value that the edits ask for."""
    try:
        roots = list(read_all(text))
    except TextError:
        return
    if len(roots) != 1:
        return
    random = Random(len(text))
    editor = Editor(roots[0])
    pending = [roots[0]]
    while pending:
        node = pending.pop()
        if not isinstance(node, MappingNode | SequenceNode):
            continue
        for child in list(node.children):
            if random.random() < 0.2:
                editor.remove(node, child)
            elif random.random() < 0.2:
                editor.replace(child, from_value(random.choice(VALUES)))
            else:
                pending.append(value_of(child))
    try:
        edited = rendered(editor).text
    except TextError:
        return
    again = read(edited)
    assert (None if again is None else again.canonical) == editor.canonical(), edited


def patch_engine(document: str, patch: str) -> None:
    """Refused, or applied; no directive is left (P4)."""
    try:
        live = to_value(read(document))
        patches = read_patches(patch)
    except (TextError, PatchError):
        return
    if not isinstance(live, dict) or first_directive(live) is not None:
        return
    schema = builtin_schema("apps", "v1", "Deployment")
    assert schema is not None
    for parsed in patches:
        for modes in (Modes(), Modes("kubernetes", "single")):
            if parsed.removes:
                continue
            try:
                after = parsed.apply(live, SchemaShape(schema), modes)
            except PatchError:
                continue
            assert parsed.type != "strategic" or first_directive(after) is None, after


def tree_merge(original: str, upstream: str, local: str) -> None:
    """Refused, or merged; where upstream changed nothing, local stays as it is."""
    _merge(original, upstream, local)
    unchanged = _merge(original, original, local)
    # A list whose lines end differently gets one line end.
    assert unchanged is None or plain_lines(unchanged.encode()) == plain_lines(_list_of(local).encode())


def _merge(original: str, upstream: str, local: str) -> str | None:
    """The items after a merge, None where it is refused."""
    sides = "".join(
        f"  {name}: |2\n{indent(text, '    ', lambda _: True)}\n"
        for name, text in (("original", original), ("upstream", upstream))
    )
    outcome = process((_list_of(local) + CONFIG + sides).encode("utf-8", "surrogatepass"))
    assert outcome.exit_code == 0 or outcome.message
    if outcome.exit_code:
        return None
    return outcome.output.decode().partition("functionConfig:")[0]


def _list_of(text: str) -> str:
    item = indent(text, "  ", lambda line: bool(line.strip()))
    return f"{LIST}items:\n-{item[1:]}" + ("" if item.endswith("\n") else "\n")


def three_sides(original: str, upstream: str, local: str) -> None:
    """The laws, where all sides are whole; A to C where they are not. Line ends are no difference (W5)."""
    texts = original, upstream, local
    paths = {path_of(mutations.FILE, File(text.encode())) for text in texts}
    # K4: a Kptfile stays one.
    path = mutations.FILE if len(paths) > 1 else paths.pop()
    before, theirs, ours = ({path: plain_lines(text.encode()).decode()} for text in texts)
    if kept_local(path, original) != kept_local(path, upstream):
        return
    is_whole = all(is_faultless(path, side[path]) for side in (before, theirs, ours))
    for winner in WINNERS:
        if not is_whole:
            assert merge(before, theirs, before, winner).files == theirs
            assert merge(before, before, ours, winner).files == ours
            assert merge(before, ours, ours, winner).files == ours
            continue
        # A character at random puts fields into others: what git merges by lines may be a question then.
        wrong = [f for f in failures((before, theirs, ours), winner) if f.is_hard() and f.kind != "H: conflict"]
        assert not wrong, "\n".join(f"{winner} wins: {failure.kind}: {failure.detail}" for failure in wrong)
        sides = [{path: text} for text in texts]
        merged = merge(sides[0], sides[1], sides[2], winner).files
        plain = {at: plain_lines(text.encode()).decode() for at, text in merged.items()}
        assert plain == merge(before, theirs, ours, winner).files
        if merge(before, theirs, plain, winner).files == plain:
            assert merge(sides[0], sides[1], merged, winner).files == merged


def kept_local(path: str, text: str) -> list[Value]:
    """What of a Kptfile is local's, whatever upstream does with it (K1)."""
    try:
        value = to_value(next(iter(read_all(text)), None)) if is_kptfile(path) else None
    except TextError:
        return []
    if not isinstance(value, dict):
        return []
    metadata = value.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    fields = ("upstream", "upstreamLock", "inventory", "status")
    return [*map(named.get, ("name", "namespace")), *map(value.get, fields)]


def is_faultless(path: str, text: str) -> bool:
    """Whether a text can be read, all keys are scalars, and nothing is repeated."""
    try:
        list(read_all(text))
        content = facts(path, text)
    except TextError:
        return False
    return content is not None and not content.faults


Made = Callable[[list[str], int], SearchStrategy[list[str]]]


@dataclass(frozen=True, slots=True)
class Target:
    """What is fuzzed, with how many texts at a time, and how these are made of a corpus."""

    name: str
    texts: int
    run: Callable[..., None]
    make: Made = mutations.texts


TARGETS = (
    Target("resource-list", 1, resource_list),
    Target("text-editor", 1, text_editor),
    Target("patch-engine", 2, patch_engine),
    Target("tree-merge", 3, tree_merge),
    Target("three-sides", 3, three_sides, mutations.sides),
)
