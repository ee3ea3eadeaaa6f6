"""What CustomResourceDefinitions tell the merge."""

from __future__ import annotations

import pytest

from krm_merge.krm.identity import parse_path
from krm_merge.schema import ORDERED, SET, KeyedList, ListKind
from krm_merge.schema.crd import CrdSchema, crd_schemas
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.reader import read_all

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gateways.example.com
spec:
  group: example.com
  names: {kind: Gateway, plural: gateways}
  scope: Namespaced
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          metadata: {type: object}
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              listeners:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, protocol]
                items:
                  type: object
                  properties:
                    port: {type: integer, default: 80}
                    protocol: {type: string, default: TCP}
                    hosts: &set
                      type: array
                      x-kubernetes-list-type: set
                      items: {type: string}
                    rules:
                      type: array
                      x-kubernetes-list-type: map
                      x-kubernetes-list-map-keys:
                      - name
                      items:
                        type: object
                        properties:
                          name: {type: string}
                          tags: *set
              plain:
                type: array
                items: {type: object}
              atomic:
                type: array
                x-kubernetes-list-type: atomic
                items: {type: object}
              mergedSet: {type: array, x-kubernetes-list-type: set, x-kubernetes-patch-merge-key: name}
              mergedAtomic: {type: array, x-kubernetes-list-type: atomic, x-kubernetes-patch-merge-key: name}
              merged:
                type: array
                x-kubernetes-patch-merge-key: name
                items: {type: object}
              mergedByOne:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, protocol]
                x-kubernetes-patch-merge-key: port
                items: {type: object}
              keyless:
                type: array
                x-kubernetes-list-type: map
                items: {type: object}
              matrix:
                type: array
                items:
                  type: array
                  x-kubernetes-list-type: set
                  items: {type: string}
              byName:
                type: object
                additionalProperties:
                  type: object
                  properties:
                    items:
                      type: array
                      x-kubernetes-list-type: map
                      x-kubernetes-list-map-keys: [id]
                      items: {type: object}
              labels:
                type: object
                x-kubernetes-map-type: atomic
                additionalProperties: {type: string}
              source:
                type: object
                properties:
                  git: {type: object}
                  oci: {type: object}
                  path: {type: string}
                oneOf:
                - required: [git]
                - required: [oci]
              target:
                type: object
                maxProperties: 1
                properties: {cluster: {type: object}, namespace: {type: object}}
              either:
                type: object
                oneOf:
                - required: [a, b]
                - required: [c]
              single:
                type: object
                oneOf:
                - required: [a]
              template:
                type: object
                x-kubernetes-embedded-resource: true
                x-kubernetes-preserve-unknown-fields: true
              notEmbedded:
                type: object
                x-kubernetes-preserve-unknown-fields: true
  - name: v1alpha1
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - name: v0
"""


def roots(text: str) -> list[MappingNode]:
    return [node for node in read_all(text) if isinstance(node, MappingNode)]


@pytest.fixture(scope="module")
def gateway() -> CrdSchema:
    return crd_schemas(roots(CRD))["example.com", "v1", "Gateway"]


def test_each_version_with_a_schema_is_there() -> None:
    others = "---\napiVersion: v1\nkind: ConfigMap\n---\napiVersion: example.com/v1\nkind: CustomResourceDefinition\n"
    assert crd_schemas(roots(CRD + others)).keys() == {
        ("example.com", "v1", "Gateway"),
        ("example.com", "v1alpha1", "Gateway"),
    }
    assert crd_schemas([]) == {}


@pytest.mark.parametrize("version", ["apiextensions.k8s.io/v1beta1", "example.com/v1", "v1"])
def test_definitions_of_another_version_define_nothing(version: str) -> None:
    assert crd_schemas(roots(CRD.replace("apiextensions.k8s.io/v1", version))) == {}


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "spec:",
        "spec: text",
        "spec: {versions: text}",
        "spec: {names: {kind: A}, versions: [{name: v1, schema: {openAPIV3Schema: {}}}]}",
        "spec: {group: a.b, names: {}, versions: [{name: v1, schema: {openAPIV3Schema: {}}}]}",
        "spec: {group: a.b, names: {kind: A}, versions: [text, {name: v1}, {schema: {openAPIV3Schema: {}}}]}",
        "spec: {group: a.b, names: {kind: A}, versions: [{name: v1, schema: {openAPIV3Schema: text}}]}",
    ],
)
def test_incomplete_definitions_define_nothing(broken: str) -> None:
    head = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    assert crd_schemas(roots(head + broken)) == {}


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("spec.listeners", KeyedList(("port", "protocol"), (("port", ("int", 80)), ("protocol", "TCP")))),
        ("spec.listeners[port=80].hosts", SET),
        ("spec.listeners[0].rules", KeyedList(("name",))),
        ("spec.listeners[0].rules[name=a].tags", SET),
        ("spec.listeners.rules.tags", SET),
        ("spec.plain", ORDERED),
        ("spec.atomic", ORDERED),
        ("spec.keyless", ORDERED),
        ("spec.mergedSet", SET),
        ("spec.mergedSet[0]", ORDERED),
        ("spec.mergedAtomic", ORDERED),
        ("spec.merged", KeyedList(("name",))),
        ("spec.matrix", ORDERED),
        ("spec.matrix[0]", SET),
        ("spec.byName.anything.items", KeyedList(("id",))),
        ("spec.byName.items.items", KeyedList(("id",))),
        ("spec.byName.items", ORDERED),
        ("spec.unknown.list", ORDERED),
        ("metadata.finalizers", SET),
        ("metadata.ownerReferences", KeyedList(("uid",))),
        ("spec.template.metadata.finalizers", SET),
        ("spec.template.spec.containers", ORDERED),
        ("spec.notEmbedded.metadata.finalizers", ORDERED),
    ],
)
def test_lists(gateway: CrdSchema, at: str, expected: ListKind) -> None:
    path = parse_path(at)
    assert gateway.at(path).list_kind == expected
    keys = expected.keys if isinstance(expected, KeyedList) else ()
    assert gateway.at(path).merge_keys == keys
    assert gateway.at(path).patch_strategy == (() if expected == ORDERED else ("merge",))
    if "merged" not in at:
        assert gateway.at(path).patch_merge_key == (keys[0] if len(keys) == 1 else None)


@pytest.mark.parametrize(("at", "key"), [("spec.mergedByOne", "port"), ("spec.merged", "name")])
def test_the_key_of_patches_is_the_one_that_the_definition_names(gateway: CrdSchema, at: str, key: str) -> None:
    assert gateway.at(parse_path(at)).patch_merge_key == key


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("spec.source", (("git", "oci"),)),
        ("spec.target", (("cluster", "namespace"),)),
        ("spec.either", ()),
        ("spec.single", ()),
        ("spec.listeners[0]", ()),
        ("metadata", ()),
        ("spec", ()),
    ],
)
def test_alternatives(gateway: CrdSchema, at: str, expected: tuple[tuple[str, ...], ...]) -> None:
    assert gateway.at(parse_path(at)).alternatives == expected
    assert gateway.at(parse_path(at)).discriminator is None


def test_bookkeeping_stays_local(gateway: CrdSchema) -> None:
    assert gateway.stays_local(("metadata", "annotations", "config.kubernetes.io/index"))
    assert not gateway.stays_local(("status",))


def test_a_definition_without_properties_knows_metadata_only() -> None:
    schema = crd_schemas(roots(CRD))["example.com", "v1alpha1", "Gateway"]
    assert schema.at(("spec", "listeners")).list_kind == ORDERED
    assert schema.at(("metadata", "finalizers")).list_kind == SET


def test_of_two_definitions_the_later_stands() -> None:
    schemas = crd_schemas(
        roots(CRD + "---\n" + CRD.replace("list-map-keys: [port, protocol]", "list-map-keys: [port]"))
    )
    assert schemas["example.com", "v1", "Gateway"].at(("spec", "listeners")).merge_keys == ("port",)
