"""Texts that are almost right: those of a corpus with pieces cut out, doubled, exchanged and put in, or edited."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from checkout import ROOT
from generated.texts import edit_texts

CORPUS = ROOT / "testdata" / "fuzz"
FILE = "a.yaml"

PIECES = (
    *(
        "? ",
        "- ",
        ": ",
        ":\n",
        "{",
        "}",
        "[",
        "]",
        "'",
        '"',
        "#",
        " # c\n",
        "\n",
        "\n\n",
        "\t",
        "  ",
        "|\n",
        ">-\n",
        "\r\n",
    ),
    *(
        "&a ",
        "*a",
        "<<: *a\n",
        "!!str ",
        "!x ",
        "---\n",
        "...\n",
        "%YAML 1.1\n",
        "~",
        "null",
        "yes",
        "0x1f",
        "1e400",
        "9" * 50,
    ),
    *(
        "apiVersion: v1\n",
        "kind: ConfigMap\n",
        "metadata:\n  name: a\n",
        "items:\n",
        "data: {}\n",
        "- name: a\n",
        "$patch: delete\n",
    ),
    *("$setElementOrder/a: [b]\n", "$retainKeys: [a]\n", "\ufeff", "\x85", "\u2028", "\x00", "é", "😀"),
)


def seeds(target: str) -> list[str]:
    """The texts of a target's corpus, in a fixed order."""
    return [file.read_bytes().decode() for file in sorted((CORPUS / target).iterdir())]


def manifests(folder: Path) -> list[str]:
    """The YAML files and Kptfiles below a folder, in a fixed order."""
    files = [file for file in sorted(folder.rglob("*")) if file.suffix in (".yaml", ".yml") or file.name == "Kptfile"]
    return [file.read_bytes().decode(errors="replace") for file in files]


def mutate(text: str, other: str, random: Random) -> str:
    """The text after a few random changes; some take a piece of the other text."""
    for _ in range(random.randint(0, 6)):
        start = random.randint(0, len(text))
        stop = min(len(text), start + random.choice((0, 1, 2, 5, 20, 100)))
        match random.randint(0, 4):
            case 0:
                text = text[:start] + text[stop:]
            case 1:
                text = text[:stop] + text[start:stop] + text[stop:]
            case 2:
                text = text[:start] + random.choice(PIECES) + text[stop:]
            case 3:
                at = random.randint(0, len(other))
                text = text[:start] + other[at : at + random.choice((5, 20, 100))] + text[stop:]
            case _:
                lines = text.splitlines(keepends=True)
                random.shuffle(lines)
                text = "".join(lines) if len(lines) < 5 else "".join(lines[: len(lines) // 2])
    return text


@st.composite
def texts(draw: st.DrawFn, corpus: list[str], count: int = 1) -> list[str]:
    """So many texts, made of a corpus; several are often made of one text."""
    random = draw(st.randoms(use_true_random=False))
    seed = random.choice(corpus)
    results = []
    for _ in range(count):
        results.append(mutate(seed, random.choice(corpus), random))
        seed = random.choice((seed, seed, results[-1], random.choice(corpus)))
    return results


@st.composite
def sides(draw: st.DrawFn, corpus: list[str], count: int = 3) -> list[str]:
    """A text of the corpus and versions of it, each edited on its own as people do, now and then by other means."""
    random = draw(st.randoms(use_true_random=False))
    original = random.choice(corpus).replace("\r\n", "\n")
    texts_of_sides = [original]
    while len(texts_of_sides) < count:
        edits = edit_texts(random, {FILE: original}, [FILE], random.randint(1, 6), random.choice((0, 0, 0.3)))
        text = edits.get(FILE, original)
        texts_of_sides.append(mutate(text, random.choice(corpus), random) if random.random() < 0.2 else text)
    ends = random.choice((("\n",), ("\n",), ("\r\n",), ("\r",), ("\n", "\r\n")))
    at = random.randrange(count)
    texts_of_sides[at] = re.sub("\n", lambda _: random.choice(ends), texts_of_sides[at])
    return texts_of_sides
