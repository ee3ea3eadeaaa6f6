"""The modes `kubernetes` and `single` beside `kubectl patch --local`: equal for every document and patch.

kubectl 1.32 prints objects as they are, without defaults and with fields that no type has, so that nothing has to be
made alike but one thing: where the document had nothing, kubectl leaves directives in it; here never (P4).

Left out, for Kubernetes gives them no meaning: `$setElementOrder` with an empty list, by which Go sorts with a
comparison that is no order; a scalar that one patch adds and deletes without an order, where Go's maps decide.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from e2e.hosts import SECONDS
from effort import SEED, scaled
from generated.objects import (
    KUBERNETES,
    Data,
    Patches,
    Record,
    document,
    has_directive,
    with_doubles,
    without_some_keys,
)
from krm_merge.patch import PatchError, SchemaShape, apply
from krm_merge.patch.model import same
from krm_merge.schema.builtin import builtin_schema

pytestmark = pytest.mark.kubectl

DOCUMENTS: Final = 20
"""In one call: the start of kubectl takes more time than the patching."""
TYPES: Final = pytest.mark.parametrize("kind", KUBERNETES, ids=[kind for _, _, kind in KUBERNETES])
Type = tuple[str, str, str]
T = TypeVar("T")


def kubectl(directory: Path, documents: list[Data], patch: Data) -> tuple[dict[str, Data], str]:
    """What kubectl makes of those documents that it can patch, by name, and what it says of the others."""
    (directory / "documents.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
    (directory / "patch.json_patch").write_text(json.dumps(patch))
    command = ["kubectl", "patch", "--local", "--type=strategic", "--output=json"]
    command += ["--filename=documents.json", "--patch-file=patch.json_patch"]
    run = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=SECONDS)
    return {item["metadata"]["name"]: item for item in json_texts(run.stdout)}, run.stderr


def json_texts(text: str) -> Iterator[Data]:
    """JSON texts one after another."""
    decoder, rest = json.JSONDecoder(), text.lstrip()
    while rest:
        value, end = decoder.raw_decode(rest)
        yield value
        rest = rest[end:].lstrip()


def without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: without_directives(inner)
            for name, inner in value.items()
            if not name.startswith("$") and not has_directive(inner)
        }
    if isinstance(value, list):
        return [without_directives(item) for item in value if not has_directive(item)]
    return value


def objects(rng: random.Random, kind: Type, spec: Record) -> list[Data]:
    """Documents of one type, each with a name of its own."""
    group, version, name = kind
    documents = []
    for at in range(DOCUMENTS):
        item: Data = {"apiVersion": f"{group}/{version}".strip("/"), "kind": name}
        item |= document(rng, spec, rng.choice([0.3, 0.6, 0.9]))
        item["metadata"]["name"] = f"object-{at}"
        documents.append(item)
    return documents


def ours(item: Data, patch: Data, kind: Type) -> Data | PatchError:
    schema = builtin_schema(*kind)
    assert schema is not None
    try:
        return apply(item, patch, SchemaShape(schema), list_order="kubernetes", merge_keys="single")
    except PatchError as error:
        return error


def compare(directory: Path, documents: list[Data], patch: Data, kind: Type) -> Counter[str]:
    """Both are equal, or both fail; how often which."""
    seen: Counter[str] = Counter()
    theirs, complaints = kubectl(directory, documents, patch)
    for item in documents:
        expected, result = theirs.get(item["metadata"]["name"]), ours(item, patch, kind)
        context = {"seed": SEED, "document": item, "patch": patch, "ours": result, "kubectl": expected or complaints}
        if expected is None:
            assert isinstance(result, PatchError), json.dumps(context)
            seen["failed"] += 1
            continue
        assert not isinstance(result, PatchError), json.dumps({**context, "ours": str(result)})
        assert same(result, without_directives(expected)), json.dumps(context)
        seen["unchanged" if same(result, item) else "changed"] += 1
    return seen


@TYPES
def test_patches(kind: Type, tmp_path: Path) -> None:
    rng, spec, seen = random.Random(f"{SEED} {kind}"), KUBERNETES[kind], Counter[str]()
    count = scaled(25)
    for _ in range(count):
        patch = Patches(rng, single=True).record(spec)
        seen += compare(tmp_path, objects(rng, kind, spec), patch, kind)
    assert seen.total() == count * DOCUMENTS
    assert seen["changed"] > seen.total() / 4
    assert seen["failed"] < seen.total() / 3


@TYPES
def test_broken_patches(kind: Type, tmp_path: Path) -> None:
    """Merge keys missing, orders that do not match, fields that `$retainKeys` lacks, unknown directives."""
    rng, spec, seen = random.Random(f"{SEED} {kind} broken"), KUBERNETES[kind], Counter[str]()

    def draw() -> tuple[Data, list[Data]]:
        return Patches(rng, single=True, broken=0.4).record(spec), objects(rng, kind, spec)

    def shows(case: tuple[Data, list[Data]]) -> bool:
        """What is broken shows only where the document has something."""
        patch, documents = case
        return any(fails(item, patch, kind) for item in documents)

    count = scaled(20)
    for patch, documents in islice(every_second(draw, shows), count):
        seen += compare(tmp_path, documents, patch, kind)
    assert seen["failed"] >= count // 2


@TYPES
def test_odd_documents(kind: Type, tmp_path: Path) -> None:
    """Live elements without a merge key, and several with one."""
    rng, spec, seen = random.Random(f"{SEED} {kind} odd"), KUBERNETES[kind], Counter[str]()

    def draw() -> tuple[Data, list[Data], list[Data]]:
        plain = objects(rng, kind, spec)
        odd = [without_some_keys(rng, spec, with_doubles(rng, item)) for item in plain]
        return Patches(rng, single=True).record(spec), plain, odd

    def shows(case: tuple[Data, list[Data], list[Data]]) -> bool:
        """A patch that an odd document cannot take, and could take as it was before."""
        patch, plain, odd = case
        return any(
            fails(now, patch, kind) and not fails(before, patch, kind) for before, now in zip(plain, odd, strict=True)
        )

    count = scaled(16)
    for patch, _, documents in islice(every_second(draw, shows), count):
        seen += compare(tmp_path, documents, patch, kind)
    assert seen["changed"]
    assert seen["failed"] >= count // 2


def every_second(drawn: Callable[[], T], shows: Callable[[T], bool]) -> Iterator[T]:
    """Without end one case as it is drawn and one that shows something: what a test is about is not left to chance."""
    while True:
        yield drawn()
        telling = next((case for case in (drawn() for _ in range(1000)) if shows(case)), None)
        assert telling is not None, f"seed {SEED}: none of 1,000 cases shows what this test is about"
        yield telling


def fails(item: Data, patch: Data, kind: Type) -> bool:
    return isinstance(ours(item, patch, kind), PatchError)
