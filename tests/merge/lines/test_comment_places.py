"""Comments merge as texts of their own places (rule V8), wherever they stand."""

from __future__ import annotations

import pytest

from effort import SEED
from krm_merge.merge.decisions.policy import OnConflict, Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File
from krm_merge.packages.merge.trees import merge_trees
from krm_merge.text import Comments
from merge.values.deciding import decide

PLACES = {
    "head of the file": "{}\n",
    "head of the file, above a blank line": "{}\n\n",
    "behind a mapping's key": " {}",
    "above a field": "  {}\n",
    "behind a field": " {}",
    "foot of a mapping": "  {}\n",
    "above a list": "  {}\n",
    "behind a list's key": " {}",
    "above an element with a key": "  {}\n",
    "behind an element with a key": " {}",
    "above a field of an element": "    {}\n",
    "behind a field of an element": " {}",
    "above an argument": "    {}\n",
    "behind an argument": " {}",
    "foot of a list of scalars": "    {}\n",
    "foot of an element": "    {}\n",
    "above an element without a key": "  {}\n",
    "behind an element without a key": " {}",
    "foot of an element without a key": "    {}\n",
    "foot of a list": "  {}\n",
    "foot of the file": "\n{}\n",
    "head of the second document": "{}\n",
    "behind a field of the second document": " {}",
    "behind the mark of a text of several lines": " {}",
    "foot of the second document": "{}\n",
}
POD = """\
{head of the file, above a blank line}{head of the file}apiVersion: v1
kind: Pod
metadata:{behind a mapping's key}
{above a field}  name: p{behind a field}
{foot of a mapping}spec:
  priority: 1
{above a list}  containers:{behind a list's key}
{above an element with a key}  - name: c{behind an element with a key}
{above a field of an element}    image: i{behind a field of an element}
    args:
{above an argument}    - --a{behind an argument}
    - --b
{foot of a list of scalars}    env:
    - name: E
      value: e
{foot of an element}  tolerations:
{above an element without a key}  - key: k{behind an element without a key}
    value: v
{foot of an element without a key}  - key: m
    value: w
{foot of a list}{foot of the file}---
{head of the second document}apiVersion: v1
kind: ConfigMap
metadata:
  name: c
data:
  x: y{behind a field of the second document}
  text: |{behind the mark of a text of several lines}
    one
    two
{foot of the second document}"""
EDITS = {
    "a value far away": ("priority: 1", "priority: 2"),
    "the value of a keyed element": ("image: i", "image: j"),
    "an argument": ("--a", "--a=1"),
    "an element without a key": ("value: v", "value: x"),
    "the last element": ("value: w", "value: y"),
    "a new container": ("  tolerations:", "  - name: own\n    image: o\n  tolerations:"),
    "a new argument": ("    - --b\n", "    - --b\n    - --own\n"),
    "a new element": ("  - key: m", "  - key: own\n    value: o\n  - key: m"),
    "a value of the second document": ("x: y", "x: z"),
    "a line of a text": ("    one\n", "    one\n    more\n"),
}


def edits_beside(place: str) -> dict[str, tuple[str, str]]:
    """All edits at night, by day some of them, others beside each place."""
    names = list(EDITS)
    at = list(PLACES).index(place)
    return {name: EDITS[name] for number, name in enumerate(names) if SEED or number % 4 == at % 4}


def text(**comments: str) -> str:
    """The file with comments in some places."""
    return POD.format_map(
        {place: form.format(comments[place]) if comments.get(place) else "" for place, form in PLACES.items()}
    )


def merge(original: str, upstream: str, local: str, on: OnConflict = "upstream") -> tuple[str, list[str]]:
    """The merged file, which merging again must leave as it is, and what was told."""
    sides = [{"a.yaml": File(side.encode())} for side in (original, upstream, local)]
    merger = PackageMerger(Policy(on))
    done = merge_trees(sides[0], sides[1], sides[2], merger)
    after = dict(Changed(sides[2], done.changes))
    assert merge_trees(sides[0], sides[1], after, merger).changes == {}
    return after["a.yaml"].data.decode(), [f"{result.severity}: {result.message}" for result in done.results]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("before", "now"), [("", "# new"), ("# old", "# new"), ("# old", "")], ids=["added", "changed", "removed"]
)
def test_upstreams_comment_arrives_beside_a_change_of_local(before: str, now: str, place: str) -> None:
    for name, edit in edits_beside(place).items():
        original, upstream = text(**{place: before}), text(**{place: now})
        assert original.count(edit[0]) == 1 == upstream.count(edit[0])
        result, messages = merge(original, upstream, original.replace(*edit))
        assert result == upstream.replace(*edit), name
        assert not [message for message in messages if not message.startswith("info")]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("before", "now"), [("", "# mine"), ("# old", "# mine"), ("# old", "")], ids=["added", "changed", "removed"]
)
def test_locals_comment_stays_beside_a_change_of_upstream(before: str, now: str, place: str) -> None:
    for edit in edits_beside(place).values():
        original, local = text(**{place: before}), text(**{place: now})
        result, messages = merge(original, original.replace(*edit), local)
        assert result == local.replace(*edit)
        assert not [message for message in messages if not message.startswith("info")]


def neighbours(place: str) -> list[str]:
    """The places next to one, where lines that merge as text would overlap."""
    places = [other for other in PLACES if not other.startswith("head of the file") or other == place]
    at = places.index(place)
    return [other for other in places[max(0, at - 3) : at + 4] if other != place]


@pytest.mark.parametrize("place", PLACES)
def test_comments_in_two_places_both_stand(place: str) -> None:
    lost = []
    for other in neighbours(place):
        for base in ({}, {place: "# old", other: "# was"}):
            original, upstream, local = text(**base), text(**base | {place: "# new"}), text(**base | {other: "# mine"})
            result, _ = merge(original, upstream, local)
            if result != text(**base | {place: "# new", other: "# mine"}):
                lost.append((other, "changed" if base else "added"))
    assert not lost


@pytest.mark.parametrize("place", PLACES)
def test_where_both_changed_a_comment_locals_stays(place: str) -> None:
    sides = [text(**{place: comment}) for comment in ("# old", "# new", "# mine")]
    assert merge(sides[0], sides[1], sides[2])[0] == sides[2]


@pytest.mark.parametrize("edit", [None, "a value far away"])
def test_comments_alone_are_told_as_that(edit: str | None) -> None:
    local = text().replace(*EDITS[edit]) if edit else text()
    for place in PLACES:
        _, messages = merge(text(), text(**{place: "# new"}), local)
        assert [message.partition(":")[0] for message in messages] == ["info"], place
        assert "comments only" in messages[0], place


# ---- comments and values together --------------------------------------------------------------------------------

SETTER = "# kpt-set: ${x}"


def value(now: str, behind: str = "", above: str = "") -> str:
    head, line = f"  {above}\n" if above else "", f" {behind}" if behind else ""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: s\ndata:\n  a: a\n{head}  x: {now}{line}\n  z: z\n"


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected", "lost", "on"),
    [
        pytest.param(
            value("1"), value("2"), value("3", "# why"), value("2"), "# why", "upstream", id="behind local's value"
        ),
        pytest.param(
            value("1"), value("2"), value("3", "", "# why"), value("2"), "# why", "upstream", id="above local's value"
        ),
        pytest.param(
            value("1"),
            value("2"),
            value("3", "# why", "# how"),
            value("2"),
            "# how # why",
            "upstream",
            id="above and behind",
        ),
        pytest.param(
            value("1", "# old"),
            value("2", "# new"),
            value("3", "# why"),
            value("2", "# new"),
            "# why",
            "upstream",
            id="upstream's comes with its value",
        ),
        pytest.param(
            value("1"),
            value("2", "# new"),
            value("3"),
            value("3"),
            "# new",
            "local",
            id="upstream's, local is preferred",
        ),
        pytest.param(
            value("1"),
            value("2", "# new"),
            value("3", "# why"),
            value("3", "# why"),
            "# new",
            "local",
            id="both, local is preferred",
        ),
        pytest.param(
            value("1", "# old"),
            value("2", "# old"),
            value("3", "# old"),
            value("2", "# old"),
            "",
            "upstream",
            id="one that nobody changed stays",
        ),
        pytest.param(
            value("1"), value("2"), value("3", SETTER), value("2", SETTER), "", "upstream", id="a setter stays"
        ),
        pytest.param(
            value("1"), value("2", SETTER), value("3"), value("3", SETTER), "", "local", id="upstream's setter stays"
        ),
        pytest.param(
            value("1"),
            value("2", "# same"),
            value("3", "# same"),
            value("2", "# same"),
            "",
            "upstream",
            id="one that both wrote stays",
        ),
    ],
)
def test_a_comment_goes_with_its_value(
    original: str, upstream: str, local: str, expected: str, lost: str, on: OnConflict
) -> None:
    result, messages = merge(original, upstream, local, on)
    assert result == expected
    conflict = next(message for message in messages if message.startswith("warning"))
    assert conflict.endswith(f"; its comment went with it: {lost}") if lost else "comment" not in conflict


VALUE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: s\ndata:\n  a: a\n"


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected", "lost"),
    [
        pytest.param(
            f"{VALUE}  x: 1\n",
            VALUE,
            f"{VALUE}  # why\n  x: 3 # how\n",
            VALUE,
            ["# why", "# how"],
            id="of a field that goes",
        ),
        pytest.param(
            f"{VALUE}  x:\n    y: 1\n",
            f"{VALUE}  x: 2\n",
            f"{VALUE}  x: # why\n    # in\n    y: 3 # side\n",
            f"{VALUE}  x: 2\n",
            ["# why", "# in", "# side"],
            id="inside a mapping",
        ),
    ],
)
def test_all_comments_that_go_with_a_value_are_named(
    original: str, upstream: str, local: str, expected: str, lost: list[str]
) -> None:
    result, messages = merge(original, upstream, local)
    assert result == expected
    conflict = next(message for message in messages if message.startswith("warning"))
    assert [comment for comment in lost if comment not in conflict] == []


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        pytest.param(value("1"), value("1", SETTER), value("3"), value("3", SETTER), id="a setter for local's value"),
        pytest.param(
            value("1"),
            value("1", SETTER),
            value("3", "", "# ours"),
            value("3", SETTER, "# ours"),
            id="below local's comment",
        ),
        pytest.param(value("1", SETTER), value("1"), value("3", SETTER), value("3"), id="a setter that goes"),
        pytest.param(
            value("1", SETTER),
            value("1", "# kpt-set: ${y}"),
            value("3", SETTER),
            value("3", "# kpt-set: ${y}"),
            id="another setter",
        ),
        pytest.param(
            value("1"), value("2"), value("1", "# mine"), value("2", "# mine"), id="local's comment at upstream's value"
        ),
        pytest.param(
            value("1"),
            value("1", SETTER),
            value("3", "# why"),
            value("3", SETTER),
            id="a setter for a note",
        ),
        pytest.param(
            value("1"), value("2", "# why"), value("1", SETTER), value("2", SETTER), id="local's setter for a note"
        ),
        pytest.param(
            value("1"),
            value("2", "", "# up"),
            value("1", "# mine"),
            value("2", "# mine", "# up"),
            id="upstream's above, local's behind",
        ),
    ],
)
def test_a_comment_and_a_value_of_two_sides_both_stand(original: str, upstream: str, local: str, expected: str) -> None:
    result, messages = merge(original, upstream, local)
    assert result == expected
    assert not [message for message in messages if not message.startswith("info")]


# ---- elements that move, come and go -----------------------------------------------------------------------------

PIPELINE = "apiVersion: v1\nkind: Pipeline\nmetadata:\n  name: p\nmutators:\n"


def step(image: str, comment: str = "", above: str = "", **config: str) -> str:
    head = f"- name: {image}{comment and ' '}{comment}\n"
    lines = "".join(f"    {name}: {value}\n" for name, value in config.items())
    return (f"{above}\n" if above else "") + head + (f"  configMap:\n{lines}" if lines else "")


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        pytest.param(
            [step("a", r="3")],
            [step("b", "# first"), step("a", r="4 # why")],
            [step("a", "# ours", r="3", s="2")],
            [step("b", "# first"), step("a", "# ours", r="4 # why", s="2")],
            id="upstream adds one in front of what local commented",
        ),
        pytest.param(
            [step("a", k="0", r="3"), step("gone")],
            [step("b", "# first"), step("a", k="0", r="4", n="1 # new")],
            [step("a", "# ours", "# values", k="0", r="3", s="5 # measured"), step("gone"), step("own", "# mine")],
            [
                step("b", "# first"),
                step("a", "# ours", "# values", k="0", r="4", s="5 # measured", n="1 # new"),
                step("own", "# mine"),
            ],
            id="upstream adds one in front and removes one behind",
        ),
        pytest.param(
            [step("a", "# old", r="3")],
            [step("a", "# new", r="3")],
            [step("z", "# mine", q="0"), step("a", "# old", r="5")],
            [step("z", "# mine", q="0"), step("a", "# new", r="5")],
            id="local adds one in front of what upstream commented",
        ),
        pytest.param(
            [step("a", r="3")],
            [step("a", r="3"), step("n", "# why", "# a new one", x="1 # inside")],
            [step("a", r="5")],
            [step("a", r="5"), step("n", "# why", "# a new one", x="1 # inside")],
            id="a new element comes with its comments",
        ),
        pytest.param(
            [step("a", "# a"), step("b", "# b", "# about b"), step("c", "# c")],
            [step("a", "# a"), step("c", "# c")],
            [step("a", "# a"), step("b", "# b", "# about b"), step("c", "# c", x="1")],
            [step("a", "# a"), step("c", "# c", x="1")],
            id="a removed element takes its comments with it",
        ),
    ],
)
def test_comments_stay_with_their_elements(
    original: list[str], upstream: list[str], local: list[str], expected: list[str]
) -> None:
    sides = [PIPELINE + "".join(steps) for steps in (original, upstream, local, expected)]
    result, messages = merge(sides[0], sides[1], sides[2])
    assert result == sides[3]
    assert not [message for message in messages if not message.startswith("info")]


@pytest.mark.parametrize("winner", ["upstream", "local"])
@pytest.mark.parametrize(
    ("before", "of_loser", "of_winner", "lost", "remaining"),
    [
        pytest.param("|o", "|l", "|u", "l", "|u", id="changed by both"),
        pytest.param("|o", "|o", "|u", "", "", id="left alone"),
        pytest.param("|o", "|l", "|l", "", "", id="changed alike"),
        pytest.param("o|", "o l|", "u|", "l", "o|", id="one more above"),
        pytest.param("|", "l|m", "|", "l m", "|", id="added"),
        pytest.param("|o", "|", "|u", "", "", id="removed"),
        pytest.param("|", "kpt-set:l|kpt-set:m", "|", "", "", id="setters"),
        pytest.param("|", "l|kpt-set:m", "|", "l", "|kpt-set:m", id="a setter and another one"),
    ],
)
def test_comments_that_a_side_changed_with_a_value_that_lost_go(
    before: str, of_loser: str, of_winner: str, lost: str, remaining: str, winner: OnConflict
) -> None:
    def document(value: int, words: str) -> str:
        head, _, line = words.partition("|")
        return "".join(f"# {word}\n" for word in head.split()) + f"a: {value}{f' # {line}' if line else ''}\n"

    sides = [document(2, of_winner), document(3, of_loser)]
    upstream, local = sides if winner == "upstream" else sides[::-1]
    (decision,) = decide(document(1, before), upstream, local, Policy(winner))[1]
    discarded = decision.discarded_comments
    assert ([] if discarded is None else [line.removeprefix("# ") for line in discarded.lines]) == lost.split()
    if discarded is not None:
        head, _, line = remaining.partition("|")
        assert discarded.kept == Comments(tuple(f"# {word}" for word in head.split()), f"# {line}" if line else None)
