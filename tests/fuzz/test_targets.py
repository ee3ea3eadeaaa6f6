"""Every text of the corpus, and texts made of them: `make nightly` tries more of these."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.mutations import seeds
from fuzz.targets import TARGETS, Target

BY_NAME = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


@BY_NAME
def test_the_corpus(target: Target) -> None:
    texts = seeds(target.name)
    assert texts
    for at in range(len(texts)):
        target.run(*(texts[(at + offset) % len(texts)] for offset in range(target.texts)))


@BY_NAME
@given(data=st.data())
def test_texts_made_of_the_corpus(target: Target, data: st.DataObject) -> None:
    target.run(*data.draw(target.make(seeds(target.name), target.texts)))
