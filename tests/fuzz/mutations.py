"""Texts that are almost right: seeds of a corpus with pieces cut out, doubled, exchanged and put in."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from checkout import ROOT

CORPUS = ROOT / "testdata" / "fuzz"

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


def mutated(text: str, other: str, random: Random) -> str:
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
def texts(draw: st.DrawFn, target: str, count: int = 1) -> list[str]:
    """So many texts, made of the seeds of a target; several are often made of one seed."""
    corpus = seeds(target)
    random = draw(st.randoms(use_true_random=False))
    seed = random.choice(corpus)
    found = []
    for _ in range(count):
        found.append(mutated(seed, random.choice(corpus), random))
        seed = random.choice((seed, seed, found[-1], random.choice(corpus)))
    return found
