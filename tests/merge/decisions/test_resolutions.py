"""Choices on conflicts: carried out, known again after they were carried out, stale when a side changes (M1-M2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from krm_merge import KrmMergeError
from krm_merge.merge.decisions.policy import Nature
from merge.decisions.resolutions import again, identity, merge, policy, resolution, sides_of
from report.conflicts import CASES, HEAD, SECRETS, conflicts, containers

OWN: dict[Nature, Any] = {
    "value": "mine",
    "kind": {"mine": 1},
    "text": "a\nmine\nc\n",
    "functions": [{"image": "a:9"}],
    "added-twice": "mine",
}


def choices() -> list[tuple[Nature, int, str]]:
    rows: list[tuple[Nature, int, str]] = []
    for nature in CASES:
        for at, record in enumerate(conflicts(merge(sides_of(nature), **identity(nature)))):
            rows += [(nature, at, choice) for choice in record.choices]
    return rows


@pytest.mark.parametrize("anywhere", [False, True])
@pytest.mark.parametrize(("nature", "at", "choice"), choices())
def test_every_choice_is_carried_out_once(nature: Nature, at: int, choice: str, anywhere: bool) -> None:
    sides = sides_of(nature)
    record = conflicts(merge(sides, **identity(nature)))[at]
    more = {"value": OWN[nature]} if choice == "value" else {}
    if choice == "value" and nature not in OWN:
        pytest.skip("no value of one's own is at hand")
    chosen = policy(resolution(record, choice, anywhere=anywhere, **more))
    merged = merge(sides, chosen, on_conflict="local", **identity(nature))
    settled = [r for r in merged.records if r.settled_by == "resolution policy resolutions[0]"]
    assert [(r.path, r.nature, r.status, r.chosen) for r in settled] == [(record.path, nature, "settled", choice)]
    if choice in ("upstream", "local", "original") and nature in (
        "value",
        "kind",
        "element",
        "resource",
        "added-twice",
    ):
        assert settled[0].values.get("result") == record.values.get(choice)  # type: ignore[call-overload]
    if choice == "value":
        assert settled[0].values["result"] == OWN[nature]
    if nature == "text" and choice in ("upstream", "local"):
        # As that side wrote it.
        assert merged.files == sides[1 if choice == "upstream" else 2]
    # Law D, whoever wins all else, and the choice is still known for what it is (M2).
    rerun = again(sides, merged, chosen, on_conflict="local", **identity(nature))
    assert rerun.changes == {}
    if nature not in ("element", "resource", "reference", "order", "sequence", "alternative") or choice == "local":
        assert "resolution policy resolutions[0]" in {r.settled_by for r in rerun.records}


@pytest.mark.parametrize("nature", sorted(CASES.keys() - {"order"}))
def test_fail_is_for_what_is_still_open(nature: Nature) -> None:
    sides = sides_of(nature)
    records = conflicts(merge(sides, on_conflict="fail", **identity(nature)))
    upstream_policy = policy(*(resolution(record, "upstream") for record in records))
    merged = merge(sides, upstream_policy, on_conflict="fail", **identity(nature))
    assert {record.status for record in conflicts(merged)} == {"settled"}


@pytest.mark.parametrize("changed", [0, 1, 2])
def test_a_choice_is_for_these_sides_alone(changed: int) -> None:
    sides = sides_of("value")
    (record,) = conflicts(merge(sides))
    chosen = policy(resolution(record, "local"))
    sides[changed] = {path: data.replace(b"a: ", b"a: other-") for path, data in sides[changed].items()}
    assert [r.settled_by for r in conflicts(merge(sides, chosen))] == ["policy"]


def test_a_value_that_was_put_there_does_not_hide_a_new_change() -> None:
    sides = sides_of("value")
    (record,) = conflicts(merge(sides))
    chosen = policy(resolution(record, "value", value="mine"))
    merged = merge(sides, chosen)
    newer = {"keep.txt": b"", "c.yaml": (HEAD + "data: {a: newer}\n").encode()}
    (new,) = conflicts(merge([sides[1], newer, dict(merged.files)], chosen))
    assert (new.settled_by, new.values["local"]) == ("policy", "mine")


def test_one_choice_is_for_all_alike() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}}}\ndata: {{a: {}}}\n"
    sides = [{f"{name}.yaml": text.format(name, value).encode() for name in "xyz"} for value in "oul"]
    record = conflicts(merge(sides))[0]
    everywhere = merge(sides, policy(resolution(record, "local", anywhere=True)))
    assert [r.chosen for r in conflicts(everywhere)] == ["local"] * 3
    here = merge(sides, policy(resolution(record, "local")))
    assert sorted(str(r.chosen) for r in conflicts(here)) == ["local", "upstream", "upstream"]


def test_orders_are_recorded_by_keys() -> None:
    (record,) = conflicts(merge(sides_of("order")))
    orders = {"original": "abc", "upstream": "cba", "local": "bac", "result": "bac"}
    assert record.values == {side: [f"[name={name}]" for name in names] for side, names in orders.items()}


@pytest.mark.parametrize(("choice", "names"), [("upstream", "cbau"), ("local", "bauc")])
def test_the_order_that_was_chosen_has_what_upstream_added(choice: str, names: str) -> None:
    sides = sides_of("order")
    sides[1]["d.yaml"] += b"      - name: u\n        image: u\n"
    (record,) = conflicts(merge(sides))
    merged = merge(sides, policy(resolution(record, choice))).files["d.yaml"].decode()
    assert merged == containers(*(f"{name}={name}" for name in names))


def test_a_comment_goes_with_the_value_that_was_not_chosen() -> None:
    sides = [{"c.yaml": f"{HEAD}data:\n  a: {value}\n".encode()} for value in ("1", "2", "3 # why")]
    (record,) = conflicts(merge(sides))
    assert merge(sides, policy(resolution(record, "upstream"))).files == sides[1]


def test_precedence() -> None:
    sides = sides_of("value")
    (record,) = conflicts(merge(sides))

    def winner(resolutions: dict[str, Any], **options: Any) -> tuple[str, object]:
        (record,) = conflicts(merge(sides, resolutions, **options))
        return record.settled_by, record.values["result"]

    rule = {"path": "data", "onConflict": "local"}
    assert winner(policy(onConflict="local")) == ("policy", "d")
    assert winner(policy(onConflict="local", rules=[{**rule, "onConflict": "upstream"}])) == (
        "rule policy rules[0]",
        "c",
    )
    ruled = policy(onConflict="local", rules=[{**rule, "onConflict": "upstream"}])
    assert winner(ruled, on_conflict="local") == ("rule policy rules[0]", "c")
    assert winner(ruled, on_conflict="fail") == ("rule policy rules[0]", "c")
    assert winner(ruled, rules=[rule], on_conflict="fail") == ("rule rules[0]", "d")
    assert winner(policy(onConflict="local"), on_conflict="fail") == ("", "d")
    assert winner(policy(onConflict="upstream"), rules=[rule]) == ("rule rules[0]", "d")
    resolved = policy(resolution(record, "original"), rules=[rule])
    assert winner(resolved, rules=[rule], on_conflict="local") == ("resolution policy resolutions[0]", "b")


def test_the_policy_that_local_has_is_obeyed() -> None:
    text = b"apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePolicy\nmetadata: {name: p}\nonConflict: local\n"
    sides = sides_of("value")
    sides[2]["merge-policy.yaml"] = text
    (record,) = conflicts(merge(sides))
    assert record.values["result"] == "d"
    sides[0]["sub/merge-policy.yaml"] = sides[1]["merge-policy.yaml"] = text
    del sides[2]["merge-policy.yaml"]
    assert conflicts(merge(sides))[0].values["result"] == "c"


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"onConflict": "me"}, "onConflict"),
        ({"rules": [{"path": "a..b"}]}, "rules[0].path"),
        ({"resolutions": [{"nature": "value", "fingerprint": "0" * 64, "choice": "value"}]}, "resolutions[0]"),
        ({"resolutions": [{"nature": "value", "fingerprint": "x", "choice": "local"}]}, "resolutions[0].fingerprint"),
        ({"resolutions": [{"nature": "odd", "fingerprint": "0" * 64, "choice": "local"}]}, "resolutions[0].nature"),
        ({"more": 1}, "more"),
    ],
)
def test_a_wrong_policy_is_refused_by_the_name_of_its_field(fields: dict[str, Any], place: str) -> None:
    with pytest.raises(KrmMergeError, match="policy: " + place.replace("[", r"\[").replace("]", r"\]")):
        merge(sides_of("value"), {**policy(), **fields})


def test_choices_on_secrets_are_for_their_place() -> None:
    sides = [{"s.yaml": SECRETS["a Secret"].replace("VALUE", value).encode()} for value in "abc"]
    (record,) = conflicts(merge(sides))
    chosen = policy(resolution(record, "local"))
    assert b"p: c" in merge(sides, chosen).files["s.yaml"]
    others = [{"s.yaml": SECRETS["a Secret"].replace("VALUE", value).encode()} for value in "def"]
    assert b"p: f" in merge(others, chosen).files["s.yaml"]
    # Without its place it would be for every Secret.
    assert b"p: b" in merge(sides, policy(resolution(record, "local", anywhere=True))).files["s.yaml"]
    one_sided = [{"s.yaml": SECRETS["a Secret"].replace("VALUE", value).encode()} for value in "aba"]
    assert b"p: b" in merge(one_sided, chosen).files["s.yaml"]
    with pytest.raises(KrmMergeError, match="not recorded"):
        merge(sides, policy(resolution(record, "value", value="x")))


def test_a_list_of_which_nothing_would_be_left_is_a_conflict() -> None:
    """Upstream exchanged both elements, and local removed one."""
    sides = [widget({"s": "a"}, names) for names in (["i u", "j"], ["k u"], ["j"])]
    merged = merge(sides)
    assert b'"list": [{"name": "k u", "v": 1}]' in merged.files["w.yaml"]
    assert [(record.rule, record.path, record.status) for record in conflicts(merged)] == [("L2", "list", "settled")]
    assert again(sides, merged, policy()).changes == {}


# ---- laws ------------------------------------------------------------------------------------------------------------

SCALARS = st.sampled_from(["a", "b", "c", 1, True, None])
# No line twice: a text in which lines repeat and which git merges may change once more (docs/rules.md, law D).
TEXTS = st.lists(st.sampled_from("vwxyz"), min_size=2, max_size=5, unique=True).map(
    lambda lines: "\n".join(lines) + "\n"
)
LISTS = st.lists(st.sampled_from(["p", "q", "r", "s"]), max_size=4)
VALUES = st.one_of(SCALARS, TEXTS, LISTS, st.dictionaries(st.sampled_from("mn"), SCALARS, max_size=2))
OBJECTS = st.dictionaries(st.sampled_from("stuv"), VALUES, min_size=1, max_size=4)


def widget(value: dict[str, Any], names: list[str]) -> dict[str, bytes]:
    import json

    spec = json.dumps({"spec": value, "list": [{"name": name, "v": 1} for name in names]})
    head = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    return {"w.yaml": json.dumps({**head, **json.loads(spec)}).encode() + b"\n"}


@given(
    st.tuples(OBJECTS, OBJECTS, OBJECTS),
    st.tuples(*[st.lists(st.sampled_from("ijkl"), unique=True, max_size=4)] * 3),
    st.sampled_from(["upstream", "local"]),
    st.data(),
)
def test_laws_hold_whatever_was_chosen(
    values: tuple[Any, Any, Any], names: tuple[list[str], ...], winner: str, data: st.DataObject
) -> None:
    before, theirs, ours = map(set, values)
    # Both have a new field, and local the one that upstream renamed to it: without that, the question is another (R1).
    assume(not (theirs & ours - before and before & ours - theirs))
    sides = [widget(value, listed) for value, listed in zip(values, names, strict=True)]
    plain = merge(sides, on_conflict=winner)
    entries = []
    is_as_before = False
    for record in conflicts(plain):
        pick = data.draw(st.sampled_from([None, *record.choices]))
        if pick is not None:
            more: dict[str, Any] = {"value": data.draw(VALUES)} if pick == "value" else {}
            # What is as the original has it may be just what was chosen (M2): law A is not for that.
            is_as_before = is_as_before or pick not in ("upstream", "local")
            entries.append(resolution(record, pick, **more))
    chosen = policy(*entries)
    merged = merge(sides, chosen, on_conflict=winner)
    # D: a second run changes nothing.
    assert again(sides, merged, chosen, on_conflict=winner).changes == {}
    # A, B, C: choices that do not fit decide nothing.
    if not is_as_before:
        assert merge([sides[0], sides[1], sides[0]], chosen, on_conflict=winner).files == sides[1]
    assert merge([sides[0], sides[0], sides[2]], chosen, on_conflict=winner).changes == {}
    assert merge([sides[0], sides[1], sides[1]], chosen, on_conflict=winner).changes == {}
