"""Line ends of a ResourceList and of the texts in its functionConfig: no difference of their own (rule W5)."""

from __future__ import annotations

import json
import random
import re
from textwrap import indent

from hypothesis import example, given
from hypothesis import strategies as st

from functions.streams import HEAD
from generated.texts import holds_resources, split, triple
from generated.written import Texts
from krm_merge.functions import process

ENDS = {"LF": ["\n"], "CRLF": ["\r\n"], "CR": ["\r"], "mixed": ["\n", "\r\n"]}
ANY_ENDS = st.sampled_from([*ENDS])


def with_ends(rng: random.Random, text: str, kind: str) -> str:
    return re.sub("\n", lambda _: rng.choice(ENDS[kind]), text)


def documents(texts: Texts) -> list[str]:
    """The Kptfile and the resources of a package, none with a separator."""
    yaml = [path for path in sorted(texts) if path.endswith(".yaml") and holds_resources(path, texts[path])]
    texts_of_files = [document for path in ["Kptfile", *yaml] for document in split(texts.get(path, ""))]
    return [re.sub(r"\A---.*\n", "", document).rstrip("\n") + "\n" for document in texts_of_files]


@example(1256, "LF", "LF", "LF")  # an item settled by lines, its dash alone on a line
@example(3256393, "LF", "LF", "LF")  # resources of one name, of which upstream made one like another (law D)
@given(st.integers(0, 2**48), ANY_ENDS, ANY_ENDS, ANY_ENDS)
def test_any_line_ends_merge_as_lf(seed: int, of_list: str, of_original: str, of_upstream: str) -> None:
    rng = random.Random(seed)
    original, upstream, local = map(documents, triple(rng))
    items = HEAD + "".join("-\n" + indent(document, "  ") for document in local)

    def config(kinds: tuple[str, str]) -> str:
        sides = zip(("original", "upstream"), (original, upstream), kinds, strict=True)
        texts = [(name, json.dumps(with_ends(rng, "---\n".join(side), kind))) for name, side, kind in sides]
        fields = "".join(f"  {name}: {text}\n" for name, text in texts)
        return f"functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: MergePackage\n{fields}"

    plain = process((items + config(("LF", "LF"))).encode())
    source = with_ends(rng, items + config((of_original, of_upstream)), of_list)
    done = process(source.encode())
    assert (done.exit_code, done.message) == (plain.exit_code, plain.message)
    lines = done.output.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert items_of(lines) == items_of(plain.output)
    assert len(set(re.findall(rb"\r\n|\n|\r", done.output))) == 1
    if of_list != "mixed":
        assert done.output.count(ENDS[of_list][0].encode()) == lines.count(b"\n")
    if not done.exit_code:
        again = process(done.output.partition(b"results:")[0])
        assert items_of(again.output) == items_of(done.output)


def items_of(output: bytes) -> bytes:
    return output.partition(b"functionConfig:")[0]
