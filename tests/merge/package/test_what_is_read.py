"""Which resources of a package are read for a merge: what changed, and what may have its name (rules R1, V2)."""

from __future__ import annotations

import pytest

from krm_merge.krm.identity import identity_of
from krm_merge.merge.decisions.decision import Member
from krm_merge.merge.package.narrow import Document, narrow
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.reader import read

NOTE = "internal.kpt.dev/upstream-identifier"


@pytest.mark.parametrize(
    ("text", "column", "names"),
    [
        ("metadata:\n  name: x\n", 0, "x"),
        ("metadata:\n  name: 'x'\n", 0, "x"),
        (f"metadata: {{name: x, annotations: {{{NOTE}: 'g|A|ns|old'}}}}\n", 0, "old x"),
        ('{"metadata": {"name": "x"}}\n', 0, "x"),
        ("metadata:\n  name: &n x\n", 0, "x"),
        ("metadata:\n  name: !!str x\n", 0, "x"),
        # No name.
        ("kind: A\n", 0, "-"),
        ("metadata:\nname: x\n", 0, "-"),
        ("metadata:\n  generateName: x\n", 0, "-"),
        ("x: 'a\nmetadata:\n  name: x\n'", 0, "-"),
        # Only reading it shows the name.
        ("x: &n y\nmetadata:\n  name: *n\n", 0, ""),
        ("metadata:\n  <<: {}\n  name: x\n", 0, ""),
        ("metadata:\n  name: {x\n", 0, ""),
        ("metadata:\n  name: [\n", 0, ""),
    ],
)
def test_the_names_of_a_resource_that_is_not_read(text: str, column: int, names: str) -> None:
    document = Document("", text.encode(), lambda: None, column)
    assert document.names() == {b"" if name == "-" else name.encode() for name in names.split()}
    assert document.names() is document.names()


def document(words: str, at: int) -> Document:
    """A resource written `file kind name value`, `-` for no file."""
    file, kind, name, value = words.split(" ")
    text = f"kind: {kind}\nmetadata:\n  name: {name}\nv: {value}\n"

    def member() -> Member:
        root = read(text)
        assert isinstance(root, MappingNode)
        return Member(file, identity_of(root), root, file, at)

    return Document(file.strip("-"), text.encode(), member)


def names_read(*sides: str) -> str:
    documents = [[document(words, at) for at, words in enumerate(side.split(" | ")) if words != "-"] for side in sides]
    narrowed = narrow(documents[0], documents[1], documents[2])
    return " / ".join(" ".join(member.identity.name for member in side) or "-" for side in narrowed)


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        pytest.param("x A a 1", "x A a 1", "x A a 2", "- / - / -", id="nothing changed"),
        pytest.param("x A a 1", "x A a 1 | x A b 1", "x A a 1", "- / b / -", id="added by upstream"),
        pytest.param("x A a 1", "x A a 1 | x A b 1", "x A a 1 | y B b 2", "- / b / b", id="added by both"),
        pytest.param("x A a 1", "x A a 1 | x A a 1", "x A a 1", "a / a a / a", id="there twice"),
        pytest.param("x A a 1", "-", "x A z 1", "a / - / z", id="removed, local has it under a new name"),
        pytest.param(
            "x A a 1 | y C c 1",
            "x A a 2 | y C c 1",
            "y A z 1 | y C c 1",
            "a / a / -",
            id="changed, local has one of its kind in another file",
        ),
        pytest.param(
            "x A a 1 | x B b 1",
            "x A a 2 | x B b 1",
            "x B b 1",
            "a / a / -",
            id="changed, local has one that was in the file",
        ),
        pytest.param("- A a 1", "- A a 2", "- A z 1", "a / a / z", id="without files, of one kind"),
        pytest.param("- A a 1", "- A a 2", "- B z 1", "a / a / z", id="without files, of another kind"),
        pytest.param(
            "- A a 1 | - A b 1", "- A a 2 | - A b 1", "- A b 2", "a / a / -", id="without files, of one kind and known"
        ),
        pytest.param(
            "x A a 1 | x B a 1 | y B c 1",
            "x A a 2 | x B a 1 | y B c 1",
            "x A a 1 | x B a 1 | y B c 1",
            "a a / a a / a a",
            id="names lead on",
        ),
        pytest.param(
            "x A a 1 | x A a 2",
            "x A a 3 | x A a 4",
            "x A a 1 | x A z 9",
            "a a / a a / a z",
            id="two of a name, one lost",
        ),
    ],
)
def test_what_is_read(original: str, upstream: str, local: str, expected: str) -> None:
    assert names_read(original, upstream, local) == expected
