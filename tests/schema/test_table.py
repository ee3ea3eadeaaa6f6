"""The table is what the script makes, and says what Kubernetes' own schemas say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from checkout import ROOT
from e2e.hosts import SECONDS
from krm_merge.krm.identity import FieldPath
from krm_merge.schema import ORDERED, SET, KeyedList
from krm_merge.schema.builtin import BuiltinSchema, builtin_schema

TABLE = ROOT / "fn" / "krm_merge" / "schema" / "builtin.table"
PACKAGE = distribution("kubernetes-validate")
SCHEMAS = Path(str(PACKAGE.locate_file("kubernetes_validate/kubernetes-json-schema")))
Definition = dict[str, Any]

REF = "#/$defs/"
SOURCE, KUBERNETES = TABLE.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").split(": ")
OLDEST, NEWEST = KUBERNETES.removeprefix("Kubernetes ").split(" to ")

of_the_recorded_version = pytest.mark.skipif(
    f"kubernetes-validate {PACKAGE.version}" != SOURCE,
    reason=f"the table is of {SOURCE}, which is not the installed one; run tools/generate_schema.py",
)


def generate(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "generate_schema.py"), *arguments]
    return subprocess.run(command, capture_output=True, check=False, env=os.environ, text=True, timeout=SECONDS)


@of_the_recorded_version
def test_the_table_is_current() -> None:
    run = generate("--check")
    assert run.returncode == 0, run.stderr


def definitions(release: str) -> dict[str, Definition]:
    text = (SCHEMAS / f"v{release}.0-local" / "_definitions.json").read_text(encoding="utf-8")
    types: dict[str, Definition] = json.loads(text)["$defs"]
    return types


def kinds(types: dict[str, Definition]) -> Iterator[tuple[str, str, str, str]]:
    for name, definition in types.items():
        for gvk in definition.get("x-kubernetes-group-version-kind", ()):
            yield gvk["group"], gvk["version"], gvk["kind"], name


def fields(types: dict[str, Definition], root: str) -> Iterator[tuple[FieldPath, Definition]]:
    """Every field below a type by one path to it, each type once."""
    pending: list[tuple[FieldPath, str]] = [((), root)]
    seen = {root}
    while pending:
        above, name = pending.pop()
        for field, schema in types[name].get("properties", {}).items():
            at: FieldPath = (*above, field)
            yield at, schema
            inner = schema
            if "items" in schema:
                inner, at = schema["items"], (*at, 0)
            elif isinstance(schema.get("additionalProperties"), dict):
                inner, at = schema["additionalProperties"], (*at, "some-key")
            target = inner.get("$ref", "").removeprefix(REF)
            if target and target not in seen:
                seen.add(target)
                pending.append((at, target))


RELEASES = sorted(folder.name.removeprefix("v").removesuffix(".0-local") for folder in SCHEMAS.glob("v1.*.0-local"))


@pytest.mark.parametrize("release", RELEASES)
def test_the_table_says_what_the_source_says(release: str) -> None:
    """Merge keys of all versions of Kubernetes: none was ever changed. All marks of the newest."""
    types = definitions(release)
    checked = 0
    for group, api_version, kind, name in kinds(types):
        schema = builtin_schema(group, api_version, kind)
        for at, field in fields(types, name) if schema is not None else ():
            assert schema is not None
            place = f"{group}/{api_version} {kind} {at}"
            checked += 1
            if "items" not in field:
                continue
            if key := field.get("x-kubernetes-patch-merge-key"):
                assert schema.at(at).patch_merge_key == key, place
            if release == NEWEST:
                check_list(schema, at, field, place)
    assert checked > 5_000


def check_list(schema: BuiltinSchema, at: FieldPath, field: Definition, place: str) -> None:
    """One list of the newest version, whose marks are those of the table."""
    strategy, key = field.get("x-kubernetes-patch-strategy", ""), field.get("x-kubernetes-patch-merge-key")
    keys, kind = field.get("x-kubernetes-list-map-keys"), schema.at(at).list_kind
    assert ",".join(schema.at(at).patch_strategy) == strategy, place
    assert schema.at(at).patch_merge_key == key, place
    if keys or key:
        assert isinstance(kind, KeyedList), place
        assert kind.keys == tuple(keys or [key]), place
        assert kind.defaults == ((("protocol", "TCP"),) if "protocol" in kind.keys else ()), place
    else:
        assert kind == (SET if field.get("x-kubernetes-list-type") == "set" or strategy else ORDERED), place


@pytest.mark.parametrize("release", [OLDEST, NEWEST])
def test_every_kind_that_has_metadata_is_there(release: str) -> None:
    types = definitions(release)
    for group, api_version, kind, name in kinds(types):
        metadata = types[name].get("properties", {}).get("metadata", {})
        expected = metadata.get("$ref", "").endswith(".ObjectMeta")
        assert (builtin_schema(group, api_version, kind) is not None) == expected, (group, api_version, kind)


def test_fields_of_alternatives_and_discriminators_exist() -> None:
    """What the script names by hand is there in the newest version, of alternatives at least two."""
    types = definitions(NEWEST)
    for group, api_version, kind, name in kinds(types):
        schema = builtin_schema(group, api_version, kind)
        if schema is None:
            continue
        names: dict[FieldPath, set[str]] = {}
        for at, _ in fields(types, name):
            names.setdefault(at[:-1], set()).add(str(at[-1]))
        for at, siblings in names.items():
            for alternatives in schema.at(at).alternatives:
                assert len(siblings & set(alternatives)) > 1, (kind, at)
            if (discriminator := schema.at(at).discriminator) is not None:
                assert {
                    discriminator.field,
                    *(m for members in discriminator.members.values() for m in members),
                } <= siblings, (kind, at)
