"""Random edits of random documents: the text means what the edits mean, and nothing else changes."""

from __future__ import annotations

from random import Random

from effort import scaled, seeds
from krm_merge.text.editing.editor import Editor
from krm_merge.text.editing.render import render
from krm_merge.text.reading.layout import CannotEditError
from krm_merge.text.reading.reader import read
from text.random_documents import Edits, is_subsequence, names_of, random_document, strip

# What the editor may refuse; all else it must be able to write.
REFUSED = {
    "a mapping with complex keys; give it keys without ?",
    "a collection in brackets with comments between elements on one line; give each a line of its own",
}


def test_many_random_edits() -> None:
    refused = documents = 0
    for seed in seeds(4000):
        random = Random(seed)
        document = random_document(random)
        if document is None:
            continue
        documents += 1
        text, root = document
        assert render(Editor(root)).text == text
        edits = Edits(random, root, text)
        edits.apply(random.choice((1, 1, 2, 3, 6)))
        try:
            refused += not check(edits)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error
    assert documents > scaled(4000) * 0.8
    # The complex keys in the random documents account for these.
    assert refused < documents / 8


def check(edits: Edits) -> bool:
    """Whether the editor wrote the edits rather than refuse."""
    canonical = edits.editor.canonical()
    try:
        out = render(edits.editor).text
    except CannotEditError as error:
        if str(error) not in REFUSED:
            raise
        return False
    root = read(out)
    assert root is not None
    assert root.canonical == canonical
    assert edits.editor.canonical() == canonical
    assert names_of(edits.text) - edits.lost <= names_of(out)
    moved = any(line.startswith("move") for line in edits.log)
    # An alias may have to be written out anywhere; without a last newline, what follows changes the last line; where
    # the values of complex keys stand is not known here.
    if "*" not in edits.text and "? " not in edits.text and edits.text.endswith("\n") and not moved:
        assert is_subsequence(strip(edits.untouched_lines()), strip(out.split("\n")))
    return True
