"""Reading only what changed proves as much as reading the whole text."""

from __future__ import annotations

from random import Random

from effort import scaled
from krm_merge.text.document import says
from krm_merge.text.editing.render import Piece, render
from krm_merge.text.reading.layout import CannotEditError
from krm_merge.text.reading.nodes import TextError
from krm_merge.text.reading.reader import read
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
    seeds = scaled(8000)
    for seed in range(seeds):
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
    assert right > seeds / 16
    # Damages to comments and spaces change nothing.
    assert 0.01 < passed / damages < 0.3


def meaning(text: str) -> object:
    try:
        root = read(text)
    except TextError:
        return None
    return root and root.canonical
