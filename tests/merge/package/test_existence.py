"""What happens to a resource that not all sides have, and of one that moved (F5, R1, R2, K4, K1, M1)."""

from __future__ import annotations

from typing import Any

import pytest

from krm_merge import MergedPackage, merge_packages

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\ndata:\n  a: {}\n"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"


def merge(*sides: dict[str, str], **options: Any) -> MergedPackage:
    return merge_packages(*({path: text.encode() for path, text in side.items()} for side in sides), **options)


def texts(package: MergedPackage) -> dict[str, str]:
    return {path: data.decode() for path, data in package.files.items()}


def config_map(value: str | None, name: str = "c", file: str = "c.yaml") -> dict[str, str]:
    return {} if value is None else {file: CONFIG_MAP.format(name, value)}


@pytest.mark.parametrize(
    ("sides", "decides", "result", "message"),
    [
        (("o", None, "l"), None, "l", "upstream removed it, local changed it; local's is kept"),
        (("o", None, "l"), "local", "l", "upstream removed it, local changed it; local's is kept"),
        (("o", None, "l"), "upstream", None, "upstream removed it, local changed it; the removal is kept"),
        (("o", "u", None), None, None, "local removed it, upstream changed it; it remains removed"),
        (("o", "u", None), "upstream", "u", "local removed it, upstream changed it; upstream's is added again"),
    ],
)
def test_of_what_one_side_removed_and_the_other_changed_local_has_its_way_unless_a_rule_says_otherwise(
    sides: tuple[str | None, ...], decides: str | None, result: str | None, message: str
) -> None:
    rules = [{"kind": "ConfigMap", "onDelete": decides}] if decides else []
    done = merge(*map(config_map, sides), rules=rules)
    assert texts(done) == config_map(result)
    (record,) = done.records
    assert (record.rule, record.message.partition(" (")[0]) == ("F5", message)


@pytest.mark.parametrize(
    ("sides", "result"),
    [
        (("o", None, "o"), None),
        (("o", "o", None), None),
        (("o", None, None), None),
        ((None, "u", None), "u"),
        ((None, None, "l"), "l"),
        ((None, "u", "u"), "u"),
    ],
)
def test_what_one_side_added_or_removed_is_no_conflict(sides: tuple[str | None, ...], result: str | None) -> None:
    done = merge(*map(config_map, sides))
    assert texts(done) == config_map(result)
    assert not done.has_conflicts


def test_kptfiles_of_a_package_are_neither_added_nor_removed() -> None:
    file = {"Kptfile": KPTFILE}
    done = merge(file, {}, file)
    assert texts(done) == file
    assert [(r.rule, r.message) for r in done.records] == [("K4", "upstream has no Kptfile; local's is kept as it is")]
    # Whoever made a package of it: there is nothing that upstream removed.
    assert merge({}, {}, file).records == []
    assert merge(config_map("1"), config_map("1"), config_map("1") | file).records == []
    assert merge(config_map("1") | file, config_map("1"), config_map("1")).records == []
    assert texts(merge({}, file, {})) == {}


@pytest.mark.parametrize(("file", "version"), [("data/p.yaml", "kpt.dev/v1"), ("data/Kptfile", "example.com/v1")])
def test_a_kptfile_as_data_merges_as_any_resource(file: str, version: str) -> None:
    fields = ("old: {}\n", "new: {}\n", "old: {}\n", "new: {}\n")
    values = (f"\n  a: 1\n  b: 1\n  c: {value}" for value in (1, 1, 2, 2))
    head = KPTFILE.replace("kpt.dev/v1", version)
    sides = [{file: head + f.format(v)} for f, v in zip(fields, values, strict=True)]
    done = merge(*sides[:3])
    assert texts(done) == sides[3]
    assert not done.has_conflicts


@pytest.mark.parametrize(("keeps", "value"), [("true", "null"), ("false", "u"), ("'true'", "u"), (None, "u")])
def test_a_null_of_local_stays_where_the_kptfile_of_the_package_says_so(keeps: str | None, value: str) -> None:
    field = "" if keeps is None else f"  preserveExplicitNull: {keeps}\n"
    local = {"Kptfile": f"{KPTFILE}upstream:\n  type: git\n{field}"}
    done = merge(config_map("o"), config_map("u"), local | config_map("null"))
    assert texts(done)["c.yaml"] == CONFIG_MAP.format("c", value)
    # What was null before, upstream may change.
    done = merge(config_map("null"), config_map("u"), local | config_map("null"))
    assert texts(done)["c.yaml"] == CONFIG_MAP.format("c", "u")


MANY = "a: {}, b: 2, c: 3, d: 4, e: 5, f: 6"


def widget(name: str, value: int, file: str = "w.yaml", kind: str = "Widget") -> dict[str, str]:
    metadata = f"{{name: {name}}}"
    return {file: f"apiVersion: v1\nkind: {kind}\nmetadata: {metadata}\nspec: {{{MANY.format(value)}}}\n"}


def test_a_resource_that_may_have_become_another_is_named() -> None:
    done = merge(widget("old", 1), widget("new", 2), widget("old", 7))
    messages = [record.message for record in done.records if record.rule == "R1"]
    assert messages == ["it may have become Widget new, which is kept as another resource"]
    # What local removed and upstream changed under another name is a conflict.
    done = merge(widget("old", 1), widget("new", 2), {})
    assert [record.rule for record in done.records if record.status != "automatic"] == ["F5"]
    # Where local did not touch it, nothing is lost.
    done = merge(widget("old", 1), widget("new", 2), widget("old", 1))
    assert [record.rule for record in done.records if record.rule == "R1"] == []
    # What both sides have alike needs no answer (C).
    two = {"w.yaml": "---\n".join(widget(name, 1)["w.yaml"] for name in ("old", "older"))}
    done = merge(two, widget("new", 2), widget("new", 2))
    assert done.records == []


@pytest.mark.parametrize(("value", "file"), [("o", "new.yaml"), ("l", "c.yaml")])
def test_a_resource_that_local_left_alone_follows_upstream_to_another_file(value: str, file: str) -> None:
    other = CONFIG_MAP.format("other", 1)
    before, local = ({"c.yaml": f"{other}---\n{CONFIG_MAP.format('c', side)}"} for side in ("o", value))
    done = merge(before, {"c.yaml": other, **config_map("u", file="new.yaml")}, local)
    assert [path for path, text in texts(done).items() if "name: c\n" in text] == [file]


@pytest.mark.parametrize(
    ("keys", "merges"),
    [
        ({"kind": "Widget", "apiVersion": "v1", "path": "spec.list", "keys": ["code"]}, True),
        ({"kind": "Other", "apiVersion": "v1", "path": "spec.list", "keys": ["code"]}, False),
        ({"kind": "Widget", "apiVersion": "v2", "path": "spec.list", "keys": ["code"]}, False),
    ],
)
def test_list_keys_are_for_one_type(keys: dict[str, Any], merges: bool) -> None:
    text = "apiVersion: v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  list:\n"
    element = "  - {code: %s, x: %s}\n"
    sides = [
        {"w.yaml": text + "".join(element % pair for pair in pairs)}
        for pairs in ([("a", 1), ("b", 1)], [("a", 1), ("b", 2), ("c", 1)], [("c", 3), ("a", 1), ("b", 1)])
    ]
    done = merge(*sides, list_keys=[keys])
    assert (texts(done)["w.yaml"] == text + "".join(element % p for p in [("c", 1), ("a", 1), ("b", 2)])) is merges


def test_what_local_renamed_and_upstream_added_again_keeps_local_names() -> None:
    note = "  annotations:\n    internal.kpt.dev/upstream-identifier: '|ConfigMap|default|c'\n"
    local = CONFIG_MAP.format("mine", "1").replace("\ndata:", f"\n{note}data:")
    done = merge({}, config_map("1"), {"c.yaml": local})
    assert texts(done) == {"c.yaml": local}


def test_the_policy_that_upstream_adds_has_no_choices() -> None:
    head = "apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePolicy\nmetadata:\n  name: p\nonConflict: local\n"
    choices = f"resolutions:\n- nature: value\n  path: data.a\n  fingerprint: {'ab' * 32}\n  choice: local\n"
    added = texts(merge({}, {"p.yaml": head + choices, "q.yaml": CONFIG_MAP.format("q", 1)}, {}))
    assert "onConflict: local\n" in added["p.yaml"]
    assert "resolutions" not in added["p.yaml"]
