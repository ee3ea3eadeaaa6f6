"""Reading only what changed proves as much as reading the whole text."""

from __future__ import annotations

from random import Random

import pytest

from effort import scaled, seeds
from krm_merge.text.document import says
from krm_merge.text.editing.render import Piece, render
from krm_merge.text.reading.layout import CannotEditError, source_of
from krm_merge.text.reading.nodes import TextError
from krm_merge.text.reading.reader import read
from text.edits import Edit
from text.random_documents import Edits, random_document

SCRAPS = (*"abc:-#|>'\"{}[],&*!? \n\t~%@0", "\n  ", "\n    ", "  - ", "\n---\n", "\n...\n", "# c\n", "|\n", ": ", "")
DAMAGES = 12


def damage(random: Random, text: str) -> str:
    for _ in range(random.choice((1, 1, 2))):
        at = random.randrange(len(text) + 1)
        text = text[:at] + random.choice(SCRAPS) + text[at + random.choice((0, 0, 1, 1, 2)) :]
    return text


def put_together(text: str, pieces: list[Piece]) -> str:
    for piece in sorted(pieces, key=lambda piece: -piece.start):
        text = text[: piece.start] + piece.text + text[piece.end :]
    return text


def test_damaged_pieces_are_found_out() -> None:
    right = damages = passed = 0
    for seed in seeds(8000):
        random = Random(seed)
        document = random_document(random)
        if document is None:
            continue
        before, root = document
        edits = Edits(random, root, before)
        edits.apply(random.choice((1, 1, 2, 3)))
        try:
            text, pieces = render(edits.editor)
        except CannotEditError:
            continue
        if not pieces:
            continue
        assert put_together(before, pieces) == text
        right += says(text, pieces, edits.editor)
        canonical = edits.editor.canonical()
        for _ in range(DAMAGES):
            at = random.randrange(len(pieces))
            worse = [*pieces[:at], pieces[at]._replace(text=damage(random, pieces[at].text)), *pieces[at + 1 :]]
            damages += 1
            if says(put_together(before, worse), worse, edits.editor):
                passed += 1
                assert meaning(put_together(before, worse)) == canonical, f"seed {seed}"
    assert right >= scaled(8000) / 16
    # Damages to comments and spaces change nothing.
    assert 0.01 < passed / damages < 0.3


def meaning(text: str) -> object:
    try:
        root = read(text)
    except TextError:
        return None
    return root and root.canonical


WORD = Edit("a: 1\nb: 2\n").set("a", to="x")
EMPTY = Edit("a: 1\nb: 2\n").set("a", to="")
ELEMENT = Edit("- {b: 1, c: 1}\n").remove(0, "c")
FIELDS = Edit("a:\n  b: 1\nc: 1\n").add("a", key="d", value="x")


@pytest.mark.parametrize(
    ("edit", "text", "is_proved"),
    [
        pytest.param(WORD, "x", True, id="a word"),
        pytest.param(WORD, "'x'", True, id="a word in quotes"),
        pytest.param(WORD, '"\\x78"', True, id="an escape"),
        pytest.param(WORD, "y", False, id="another word"),
        pytest.param(WORD, "x # c", False, id="a comment"),
        pytest.param(WORD, " x", False, id="space"),
        pytest.param(WORD, '"x\\\n  "', False, id="a second line"),
        pytest.param(WORD, '"x\\\r  "', False, id="a carriage return"),
        pytest.param(EMPTY, "''", True, id="nothing in quotes"),
        pytest.param(EMPTY, "|", False, id="the head of a block scalar"),
        pytest.param(ELEMENT, "{b: 1}", True, id="a collection on one line"),
        pytest.param(ELEMENT, "b: 1", False, id="a block on one line"),
        pytest.param(FIELDS, "  b: 1\n  d: x\n", True, id="a block"),
        pytest.param(FIELDS, "  b: 1\n  # c\n  d: x # d\n", True, id="a block with comments"),
        pytest.param(FIELDS, "   b: 1\n   d: x\n", False, id="a block in another column"),
        pytest.param(FIELDS, "  {b: 1, d: x}\n", False, id="no block"),
        pytest.param(FIELDS, "  b: 1\n  d: |-\n    x\n", False, id="a block scalar at the end"),
        pytest.param(FIELDS, "  b: 1\u2028  d: x\n", False, id="a line break that no editor shows"),
        pytest.param(FIELDS, "  b: 1\n  d: x\n...\n", False, id="the end of the document"),
        pytest.param(FIELDS, "  b: 1\n  d: x", False, id="no end of a line"),
    ],
)
def test_a_piece_proves_itself_by_what_it_says_in_its_place(edit: Edit, text: str, is_proved: bool) -> None:
    pieces = render(edit.editor).pieces
    assert pieces is not None
    pieces = [piece._replace(text=text) for piece in pieces]
    assert says(put_together(source_of(edit.root).text, pieces), pieces, edit.editor) is is_proved
