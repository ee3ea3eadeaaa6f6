"""What patches do wrong, and what the messages say: the path, the key, and what is wrong. Several key fields."""

from __future__ import annotations

from typing import Any, Final

import pytest

from generated.objects import SMALL, SpecShape
from krm_merge.krm import identity_of
from krm_merge.krm.identity import format_path
from krm_merge.merge import Member, Schemas
from krm_merge.patch import (
    PatchConflictError,
    PatchError,
    ReplacedList,
    SchemaShape,
    TypeShape,
    apply,
    create,
    create_three_way,
)
from krm_merge.patch.patches import PatchType, patches_of
from krm_merge.schema.builtin import builtin_schema
from krm_merge.text import MappingNode, read

Data = dict[str, Any]
SHAPE: Final = SpecShape(SMALL)
KUBERNETES: Final[Data] = {"list_order": "kubernetes", "merge_keys": "single"}
LIVE: Final[Data] = {
    "items": [{"name": "a", "items": [{"name": "b"}]}],
    "set": ["x"],
    "kept": {"value": "x"},
    "pairs": [{"foo": "a", "bar": "x"}, {"foo": "a", "bar": "y"}, {"foo": "b", "bar": "x"}],
    "inner": {},
}


@pytest.mark.parametrize(
    ("patch", "path", "words"),
    [
        ({"items": [{"value": "x"}]}, "items", ["declared merge key: name", '{"value": "x"}']),
        ({"items": [{"$patch": "delete"}]}, "items", ["declared merge key: name"]),
        ({"items": [{"name": "a", "items": [{"value": "x"}]}]}, "items[name=a].items", ["declared merge key: name"]),
        ({"$setElementOrder/items": [{"value": "x"}]}, "items", ["declared merge key: name"]),
        ({"items": [{"name": "a", "$patch": "drop"}]}, "items", ['unknown patch type: "drop"']),
        ({"items": ["a"]}, "items", ["list element types are not identical"]),
        ({"items": [["a"]]}, "items", ["lists of lists are not supported"]),
        ({"set": [{"name": "a"}]}, "set", ["list element types are not identical"]),
        (
            {"$setElementOrder/items": [{"name": "b"}, {"name": "a"}], "items": [{"name": "a"}, {"name": "b"}]},
            "items",
            ["order in patch list", "doesn't match $setElementOrder", '"b"'],
        ),
        ({"$setElementOrder/set": ["y"], "set": ["x"]}, "set", ["doesn't match $setElementOrder", '["y"]']),
        ({"inner": {"$patch": "drop"}}, "inner.$patch", ['unknown patch type: "drop"']),
        ({"kept": {"other": 1, "$retainKeys": ["value"]}}, "kept.$retainKeys", ["format of retainKeys", "sets other"]),
        ({"kept": {"$retainKeys": "value"}}, "kept.$retainKeys", ["format of retainKeys", "list of fields"]),
        ({"$setElementOrder/set": "x"}, None, ["format of setElementOrder list", "$setElementOrder/FIELD"]),
        ({"$setElementOrder": ["x"]}, None, ["format of setElementOrder list", "$setElementOrder/FIELD"]),
        ({"$deleteFromPrimitiveList/set": "x"}, None, ["format of primitive list", "$deleteFromPrimitiveList/FIELD"]),
        ({"$deleteFromPrimitiveList": ["x"]}, None, ["format of primitive list", "$deleteFromPrimitiveList/FIELD"]),
        ({"$setElementOrder/kept": ["x"]}, "kept", ["a list is expected"]),
        ({"$setElementOrder/items": [{"name": "a"}], "items": {}}, "items", ["a list is expected"]),
        # Several key fields: all of them are needed, in elements, deletions and orders (m3-m6).
        ({"pairs": [{"foo": "a", "value": "x"}]}, "pairs", ["declared merge key: bar"]),
        ({"pairs": [{"bar": "x", "value": "x"}]}, "pairs", ["declared merge key: foo"]),
        ({"pairs": [{"foo": "a", "$patch": "delete"}]}, "pairs", ["declared merge key: bar"]),
        ({"$setElementOrder/pairs": [{"foo": "a"}]}, "pairs", ["declared merge key: bar"]),
    ],
)
def test_messages(patch: Data, path: str | None, words: list[str]) -> None:
    with pytest.raises(PatchError) as raised:
        apply(LIVE, patch, SHAPE)
    message = str(raised.value)
    assert message == f"{format_path(raised.value.path)}: {raised.value.problem}"
    if path is not None:
        assert message.startswith(f"{path}: "), message
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("patch", "path", "words"),
    [
        ({"inner": {"$patch": "drop"}}, "inner.$patch", ['unknown patch type: "drop"']),
        ({"inner": {"whole": {"$patch": "drop"}}}, "inner.whole.$patch", ['unknown patch type: "drop"']),
        ({"items": [{"name": "a", "items": [{"value": "x"}]}]}, "items[name=a].items", ["declared merge key: name"]),
        ({"items": [{"name": "a", "$retainKeys": []}]}, "items[name=a].$retainKeys", ["sets name"]),
        ({"inner": {"$retainKeys": ["set"], "word": "x"}}, "inner.$retainKeys", ["sets word"]),
        ({"inner": {"set": ["a"], "$setElementOrder/set": ["b"]}}, "inner.set", ["doesn't match $setElementOrder"]),
        ({"inner": {"$setElementOrder": ["a"]}}, "inner.$setElementOrder", ["$setElementOrder/FIELD"]),
    ],
)
def test_what_is_new_is_checked(patch: Data, path: str, words: list[str]) -> None:
    """Else only a second run would be refused."""
    with pytest.raises(PatchError) as raised:
        apply({}, patch, SHAPE)
    message = str(raised.value)
    assert message.startswith(f"{path}: "), message
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("patch", "path", "words"),
    [
        ({"rules": [{"value": "x", "$patch": "delete"}]}, "rules", ["does not merge", "`$patch: delete`", "listKeys"]),
        ({"rules": [{"value": "x", "$patch": "merge"}]}, "rules", ["does not merge", "`$patch: merge`"]),
        ({"rules": [{"value": "x", "$patch": "replace"}]}, "rules", ["does not merge", "`$patch: replace`"]),
        ({"items": [{"name": "a", "value": "x", "$patch": "replace"}]}, "items", ['"name": "a"', "whole list"]),
        ({"items": [{"name": "a", "$patch": "replace"}, {"name": "b"}]}, "items", ['"name": "a"', "whole list"]),
    ],
)
@pytest.mark.parametrize("live", [{}, {"rules": [{"value": "x"}, {"value": "y"}], "items": [{"name": "a"}]}])
def test_no_element_is_lost_without_a_word(live: Data, patch: Data, path: str, words: list[str]) -> None:
    with pytest.raises(PatchError) as raised:
        apply(live, patch, SHAPE)
    message = str(raised.value)
    assert message.startswith(f"{path}: "), message
    assert all(word in message for word in words), message
    # kubectl drops the element.
    left = [item for item in next(iter(patch.values())) if "$patch" not in item]
    assert apply(live, patch, SHAPE, **KUBERNETES)[path] == left


def test_a_list_that_does_not_merge_is_replaced_with_directives_in_its_elements() -> None:
    patch: Data = {"rules": [{"$patch": "replace"}, {"value": "x", "other": None, "$retainKeys": ["value"]}]}
    assert apply({"rules": [{"value": "y"}]}, patch, SHAPE) == {"rules": [{"value": "x"}]}
    with pytest.raises(PatchError, match=r"^rules\[0\]\.inner\.\$patch: unknown"):
        apply({}, {"rules": [{"inner": {"$patch": "drop"}}]}, SHAPE)


@pytest.mark.parametrize(
    ("kind", "field", "before", "after", "noted"),
    [
        ("example.com/v1\nkind: Widget", "parts", [{"id": 1}, {"id": 2}], [{"id": 3}], True),
        ("example.com/v1\nkind: Widget", "parts", [{"id": 1}, {"id": 2}], [{"id": 1}, {"id": 2}], False),
        ("example.com/v1\nkind: Widget", "sizes", [1, 2], [3], False),
        ("example.com/v1\nkind: Widget", "parts", [], [{"id": 3}], False),
        # Kubernetes says that this one is replaced.
        ("v1\nkind: Pod", "tolerations", [{"key": "a"}, {"key": "b"}], [{"key": "c"}], False),
    ],
)
def test_only_replaced_lists_of_maps_that_no_schema_knows_are_noted(
    kind: str, field: str, before: list[Any], after: list[Any], noted: bool
) -> None:
    root = read(f"apiVersion: {kind}\n")
    assert isinstance(root, MappingNode)
    shape = SchemaShape(Schemas(list).of(Member("", identity_of(root), root, "")))
    replaced: list[ReplacedList] = []
    patch: Data = {"spec": {field: after}}
    assert apply({"spec": {field: before}}, patch, shape, replaced=replaced) == patch
    assert replaced == ([ReplacedList(("spec", field), len(before), len(after))] if noted else [])


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("$patchh", "delete", "$patch"),
        ("$Patch", "replace", "$patch"),
        ("$path", "merge", "$patch"),
        ("$retainKey", ["word"], "$retainKeys"),
        ("$setElementsOrder/set", ["a"], "$setElementOrder"),
        ("$deleteFromPrimitivesList/set", ["a"], "$deleteFromPrimitiveList"),
    ],
)
@pytest.mark.parametrize("live", [{}, {"inner": {"word": "x"}}])
def test_a_directive_misspelt(live: Data, name: str, value: Any, meant: str) -> None:
    with pytest.raises(PatchError) as raised:
        apply(live, {"inner": {name: value}}, SHAPE)
    assert raised.value.path == ("inner", name)
    assert raised.value.problem == f"there is no directive {name}; {meant} is one"
    # kubectl takes it for a field.
    assert apply({}, {"inner": {name: value}}, SHAPE, **KUBERNETES) == {"inner": {name: value}}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("$ref", "#/definitions/a"),
        ("$path", "/a"),
        ("$schema", ["a"]),
        ("$match", "merge"),
        ("$keys", ["a"]),
        ("$", "a"),
    ],
)
def test_fields_may_begin_as_directives_do(name: str, value: Any) -> None:
    patch: Data = {"inner": {name: value}}
    assert apply({}, patch, SHAPE) == patch
    assert apply({"inner": {}}, patch, SHAPE) == patch


@pytest.mark.parametrize(
    ("type_", "patch", "path"),
    [
        ("merge", {"spec": {"a": {"$patch": "delete"}}}, "spec.a.$patch"),
        ("merge", {"spec": {"$setElementOrder/x": ["a"]}}, "spec.$setElementOrder/x"),
        ("merge", {"spec": [{"a": 1}, {"$patch": "delete"}]}, "spec[1].$patch"),
        (None, [{"op": "add", "path": "/spec/a", "value": {"$patch": "delete"}}], "[0].value.$patch"),
        ("json", [{"op": "add", "path": "/spec/$retainKeys", "value": ["a"]}], "[0].path"),
        ("json", [{"op": "replace", "path": "/spec/$deleteFromPrimitiveList~1a", "value": ["a"]}], "[0].path"),
    ],
)
def test_only_strategic_merge_patches_have_directives(type_: PatchType | None, patch: Any, path: str) -> None:
    with pytest.raises(PatchError, match="make its type strategic") as raised:
        patches_of([patch], type_)
    assert format_path(raised.value.path) == path
    assert f"a {type_ or 'json'} patch" in raised.value.problem


def test_patches_of_other_types_take_directives_away() -> None:
    """What another program has left."""
    patches_of([{"spec": {"$patch": None}, "a": [{"$ref": "b"}]}], "merge")
    patches_of([[{"op": op, "path": "/$patch", "value": "delete"} for op in ("test", "remove")]])


@pytest.mark.parametrize("live", [{}, {"set": []}, {"set": [{"name": "b"}]}, {"set": [["x"]]}])
@pytest.mark.parametrize("items", [[{"name": "a"}, {"name": "c"}], [["a"], ["b"]]])
def test_a_set_of_maps_or_lists_is_one_value(live: Data, items: list[Any]) -> None:
    """Definitions may have one; nothing tells its elements apart."""
    target: Data = {"set": items}
    first, two = ({"inner": {"x": number}, **live} for number in (1, 2))
    assert apply(live, target, SHAPE) == target
    assert create(first, two, SHAPE) == {"inner": {"x": 2}}
    assert apply(live, create(live, target, SHAPE), SHAPE) == target


@pytest.mark.parametrize("live", [None, [], [{"name": "b"}], [{"name": "a"}], [{"name": "a"}, {"name": "a"}]])
def test_elements_with_equal_keys_in_a_patch(live: list[Any] | None) -> None:
    """P3: keys must be unique, whatever the list has; `mergeKeys: single` is kubectl's."""
    patch: Data = {"items": [{"name": "a", "value": "x"}, {"name": "b"}, {"name": "a", "value": "y"}]}
    document: Data = {} if live is None else {"items": live}
    says = (
        r'^items: elements have the same merge key a: \{"name": "a", "value": "x"\} and \{"name": "a", "value": "y"\}'
    )
    with pytest.raises(PatchError, match=says):
        apply(document, patch, SHAPE)
    assert apply(document, patch, SHAPE, list_order="kubernetes", merge_keys="single")


def test_of_more_elements_of_one_key_than_a_patch_has_two_are_named() -> None:
    live: Data = {"items": [{"name": "a", "value": value} for value in "12"]}
    with pytest.raises(
        PatchError, match=r'same merge key a: \{"name": "a", "value": "1"\} and \{"name": "a", "value": "2"\}'
    ):
        apply(live, {"items": [{"name": "a", "value": "x"}]}, SHAPE, merge_keys="multi")


def test_kubectl_skips_elements_with_directives_in_orders() -> None:
    patch: Data = {
        "$setElementOrder/items": [{"name": "a"}, {"name": "b"}],
        "items": [{"name": "a"}, {"name": "b", "$patch": "merge"}],
    }
    assert apply({}, patch, SHAPE, list_order="kubernetes", merge_keys="single") == {"items": [{"name": "a"}]}


@pytest.mark.parametrize("field", ["items", "inner"])
def test_a_field_that_the_type_has_not(field: str) -> None:
    shape = TypeShape({"root": {}}, "root")
    value: Any = [{"name": "a"}] if field == "items" else {"a": 1}
    with pytest.raises(PatchError, match=f"^{field}: unable to find api field {field}"):
        apply({field: value}, {field: value}, shape)
    assert apply({}, {field: value}, shape) == {field: value}


def test_a_live_element_without_its_key() -> None:
    live: Data = {"items": [{"value": "x"}]}
    with pytest.raises(PatchError, match=r"^items: .*declared merge key: name"):
        apply(live, {"items": [{"name": "a"}]}, SHAPE)
    with pytest.raises(PatchError, match=r"^items: .*declared merge key: name"):
        create(live, {"items": [{"name": "a"}]}, SHAPE)


@pytest.mark.parametrize("change", [{"$patch": "merge"}, {"$patch": "merge", "word": "x"}])
def test_kubectl_knows_no_directive_merge(change: Data) -> None:
    assert apply({"inner": {"word": "y"}}, {"inner": change}, SHAPE)["inner"] == {"word": change.get("word", "y")}
    with pytest.raises(PatchError, match=r'^inner\.\$patch: unknown patch type: "merge"'):
        apply({"inner": {}}, {"inner": change}, SHAPE, **KUBERNETES)
    with pytest.raises(PatchError, match=r"^items: merging lists cannot yet"):
        apply(LIVE, {"items": [{"name": "a", **change}]}, SHAPE, **KUBERNETES)


@pytest.mark.parametrize("live", [{}, {"set": ["x"]}])
def test_kubectl_refuses_an_order_beside_null(live: Data) -> None:
    patch: Data = {"set": None, "$setElementOrder/set": ["x"]}
    assert apply(live, patch, SHAPE) == {}
    with pytest.raises(PatchError, match=r"^set: a list is expected for \$setElementOrder, not null"):
        apply(live, patch, SHAPE, **KUBERNETES)


def test_conflicts_name_the_place() -> None:
    versions: list[Data] = [{"inner": {"word": word}} for word in "xyz"]
    original, modified, live = versions
    with pytest.raises(PatchConflictError, match=r"^inner\.word: "):
        create_three_way(original, modified, live, SHAPE, overwrite=False)
    assert create_three_way(original, modified, live, SHAPE) == {"inner": {"word": "y"}}


# ---- one port, two protocols -------------------------------------------------------------------------------------


def service(*ports: Data) -> Data:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "dns"}, "spec": {"ports": list(ports)}}


def patch_ports(live: Data, *ports: Data, **modes: Any) -> list[Data]:
    schema = builtin_schema("", "v1", "Service")
    assert schema is not None
    result: Any = apply(live, {"spec": {"ports": list(ports)}}, SchemaShape(schema), **modes)
    ports_after: list[Data] = result["spec"]["ports"]
    return ports_after


TCP: Final[Data] = {"port": 53, "protocol": "TCP", "name": "tcp"}
UDP: Final[Data] = {"port": 53, "protocol": "UDP", "name": "udp"}
BARE: Final[Data] = {"port": 53, "name": "tcp"}
"""TCP is the default."""


@pytest.mark.parametrize("tcp", [TCP, BARE], ids=["written", "default"])
@pytest.mark.parametrize("key", [{"port": 53, "protocol": "TCP"}, {"port": 53}], ids=["written", "default"])
def test_each_port_is_patched_alone(tcp: Data, key: Data) -> None:
    live = service(tcp, UDP)
    assert patch_ports(live, {**key, "targetPort": 5}) == [{**tcp, **key, "targetPort": 5}, UDP]
    assert patch_ports(live, {"port": 53, "protocol": "UDP", "targetPort": 5}) == [tcp, {**UDP, "targetPort": 5}]
    assert patch_ports(live, {**key, "$patch": "delete"}) == [UDP]
    assert patch_ports(live, {"port": 53, "protocol": "UDP", "$patch": "delete"}) == [tcp]
    assert patch_ports(service(tcp), UDP) == [tcp, UDP]
    assert patch_ports(service(UDP), {**key, "name": "tcp"}) == [UDP, {**key, "name": "tcp"}]
    # A default is for finding the element; it is not written out.
    assert patch_ports(service(BARE), {"port": 53, "targetPort": 5}) == [{**BARE, "targetPort": 5}]


def test_a_default_is_written_out_or_taken_away() -> None:
    schema = builtin_schema("", "v1", "Service")
    assert schema is not None
    shape = SchemaShape(schema)
    for first, second in ((service(TCP, UDP), service(BARE, UDP)), (service(BARE, UDP), service(TCP, UDP))):
        patch = create(first, second, shape)
        assert apply(first, patch, shape) == second


def test_single_finds_the_first_as_kubectl_does() -> None:
    live = service(TCP, UDP)
    change: Data = {"port": 53, "protocol": "UDP", "targetPort": 5}
    assert patch_ports(live, change, **KUBERNETES) == [{**TCP, **change}, UDP]
    assert patch_ports(live, {"port": 53, "protocol": "UDP", "$patch": "delete"}, **KUBERNETES) == []
    assert patch_ports(service(TCP), UDP, **KUBERNETES) == [UDP]
    with pytest.raises(PatchError, match=r"^spec\.ports: .*declared merge key: port"):
        patch_ports(live, {"protocol": "UDP"}, **KUBERNETES)
