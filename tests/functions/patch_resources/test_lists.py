"""Strategic patches of lists: orders, keys and schemas; JSON patches."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from functions.patch_resources.patched import DEPLOYMENT, ENV, HIT, Done, apply_patches, config_of, refuse
from functions.streams import HEAD, SERVICE, as_item

# ---- lists: orders, keys, schemas ------------------------------------------------------------------------------------


def env_of(done: Done) -> list[str]:
    containers = done.items[0]["spec"]["template"]["spec"]["containers"]
    return [variable["name"] for container in containers for variable in container.get("env", [])]


def test_what_the_order_moves_is_told() -> None:
    done = apply_patches([DEPLOYMENT], {"target": {"kind": "Deployment"}, "patch": ENV})
    assert env_of(done) == ["B", "C", "A"]
    (moved,) = [result for result in done.results if result["tags"]["rule"] == "P2"]
    assert moved["severity"] == "info"
    assert moved["message"].startswith(
        "Deployment shop/web: patches[0] moves A in spec.template.spec.containers[name=web].env:"
    )
    assert moved["field"] == {"path": "spec.template.spec.containers[name=web].env"}
    assert moved["file"] == {"path": "apps/web.yaml"}
    assert '- name: B # second\n            value: "3"' in done.text


def test_an_order_list_moves_what_it_names_behind_the_rest() -> None:
    order = "spec: {template: {spec: {$setElementOrder/containers: [{name: log}], containers: []}}}"
    done = apply_patches([DEPLOYMENT], {"target": {"kind": "Deployment"}, "patch": order})
    names = [container["name"] for container in done.items[0]["spec"]["template"]["spec"]["containers"]]
    assert names == ["web", "log"]
    assert "moves web in spec.template.spec.containers" in done.messages("info")[0]
    done = apply_patches([DEPLOYMENT], {"target": {"kind": "Deployment"}, "patch": order}, listOrder="kubernetes")
    assert done.text == done.before


def test_kubectl_moves_without_a_word() -> None:
    done = apply_patches([DEPLOYMENT], {"target": {"kind": "Deployment"}, "patch": ENV}, listOrder="kubernetes")
    assert env_of(done) == ["B", "C", "A"]
    assert all(result["tags"]["rule"] == "P4" for result in done.results)


PORTS = [
    # a patch of the ports, the target ports by protocol with all key fields and with one; None where it is an error
    ("{port: 53, protocol: UDP, targetPort: 5353}", [("TCP", None), ("UDP", 5353)], [("UDP", 5353), ("UDP", None)]),
    ("{port: 53, targetPort: 5353}", [("TCP", 5353), ("UDP", None)], [("TCP", 5353), ("UDP", None)]),
    ("{port: 53, protocol: TCP, $patch: delete}", [("UDP", None)], []),
    ("{port: 53, $patch: delete}", [("UDP", None)], []),
    (
        "{port: 53, protocol: SCTP}",
        [("TCP", None), ("UDP", None), ("SCTP", None)],
        [("SCTP", None), ("UDP", None)],
    ),
    ("{name: tcp}", None, None),
]


@pytest.mark.parametrize(("patch", "multi", "single"), PORTS)
def test_merge_keys(patch: str, multi: Any, single: Any) -> None:
    entry = {"target": {"kind": "Service"}, "patch": f"spec: {{ports: [{patch}]}}"}
    for mode, expected in (("multi", multi), ("single", single)):
        done = Done([SERVICE], config_of(entry, mergeKeys=mode))
        if expected is None:
            assert done.exit_code == 1
            (error,) = done.results
            assert error["message"].startswith("Service dns: patches[0]: spec.ports: ")
            assert "does not contain declared merge key: port" in error["message"]
            assert error["field"] == {"path": "spec.ports"}
            assert error["file"] == {"path": "dns.yaml", "index": 2}
            assert error["resourceRef"] == {"apiVersion": "v1", "kind": "Service", "name": "dns"}
            continue
        ports = done.items[0]["spec"]["ports"]
        assert [(port.get("protocol", "TCP"), port.get("targetPort")) for port in ports] == expected


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: zones.example.com
spec:
  group: example.com
  names: {kind: Zone}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, protocol]
                items:
                  type: object
                  properties:
                    port: {type: integer}
                    protocol: {type: string, default: TCP}
                    note: {type: string}
              tags:
                type: array
                x-kubernetes-list-type: set
                items: {type: string}
              plain:
                type: array
                items: {type: object}
"""
ZONE = """\
apiVersion: example.com/v1
kind: Zone
metadata:
  name: zone
spec:
  ports:
  - port: 53 # zones
  - port: 53 # names
    protocol: UDP
  tags:
  - a # first
  - b
  plain:
  - name: x
  - name: y
"""


def test_lists_of_custom_resources() -> None:
    patch = "spec: {ports: [{port: 53, protocol: TCP, note: n}], tags: [c], plain: [{name: z}]}"
    entry = {"target": {"kind": "Zone"}, "patch": patch}
    done = apply_patches([ZONE, CRD], entry)
    result = ZONE.replace("# zones\n", '# zones\n    protocol: TCP\n    note: "n"\n').replace(
        "  - b\n", "  - b\n  - c\n"
    )
    result = result.replace("  - name: x\n  - name: y\n", "  - name: z\n")
    assert done.text == HEAD + as_item(result) + as_item(CRD)
    # Without its definition nothing is known of it: lists are replaced.
    done = apply_patches([ZONE], entry)
    assert done.items[0]["spec"] == {
        "ports": [{"port": 53, "protocol": "TCP", "note": "n"}],
        "tags": ["c"],
        "plain": [{"name": "z"}],
    }


def test_list_keys() -> None:
    keys = [
        {"apiVersion": "example.com/v1", "kind": "Zone", "path": "spec.plain", "keys": ["name"]},
        {"apiVersion": "example.com/v2", "kind": "Zone", "path": "spec.tags", "keys": ["name"]},
    ]
    entry = {"target": {"kind": "Zone"}, "patch": "spec: {plain: [{name: y, n: 1}, {name: z}], tags: [c]}"}
    done = apply_patches([ZONE], entry, listKeys=keys)
    assert done.items[0]["spec"]["plain"] == [{"name": "x"}, {"name": "y", "n": 1}, {"name": "z"}]
    assert done.items[0]["spec"]["tags"] == ["c"]


def test_list_keys_of_a_list_in_list_elements() -> None:
    item = "apiVersion: e.com/v1\nkind: W\nmetadata: {name: w}\n"
    item += "spec: {groups: [{name: g, parts: [{id: 1, side: l}]}]}\n"
    keys = [
        {"apiVersion": "e.com/v1", "kind": "W", "path": "spec.groups", "keys": ["name"]},
        {"apiVersion": "e.com/v1", "kind": "W", "path": "spec.groups.parts", "keys": ["id", "side"]},
    ]
    patch = "spec: {groups: [{name: g, parts: [{id: 1, side: r}, {id: 1, side: l, x: 1}]}]}"
    entry = {"target": {"kind": "W"}, "patch": patch}
    done = apply_patches([item], entry, listKeys=keys)
    parts = [{"id": 1, "side": "r"}, {"id": 1, "side": "l", "x": 1}]
    assert done.items[0]["spec"]["groups"] == [{"name": "g", "parts": parts}]
    (error,) = refuse([item], {**entry, "patch": patch.replace(", side: r", "")}, listKeys=keys)
    assert "spec.groups[name=g].parts: " in error
    assert "does not contain declared merge key: side" in error


# ---- JSON patches ----------------------------------------------------------------------------------------------------


def test_a_json_patch_that_a_second_run_would_repeat() -> None:
    add = "- {op: add, path: /spec/ports/-, value: {port: 80}}"
    done = apply_patches([SERVICE], {"target": {"kind": "Service"}, "patch": add})
    (warning,) = done.messages("warning")
    assert warning.startswith("functionConfig: patches[0]: a second run of this JSON patch would change more")
    assert done.results[-1]["tags"] == {"rule": "P6"}


MORE = "would change more; in a pipeline"


@pytest.mark.parametrize(
    ("patch", "warns"),
    [
        ("- {op: replace, path: /spec/ports/0/port, value: 54}", ""),
        ("- {op: add, path: /spec/type, value: ClusterIP}", ""),
        # Names stay what they were, every time.
        ("- {op: replace, path: /metadata/name, value: new}", ""),
        ("- {op: remove, path: /spec/ports/0}", MORE),
        ("- {op: remove, path: /spec/ports}", "fails: Service dns: operation 1, "),
        ("- {op: move, from: /spec/ports, path: /spec/gates}", "fails: Service dns: operation 1, "),
        (
            "- {op: test, path: /spec/ports/0/port, value: 53}\n- {op: replace, path: /spec/ports/0/port, value: 54}",
            "fails: Service dns: operation 1, ",
        ),
    ],
)
def test_json_patches_in_a_pipeline(patch: str, warns: str) -> None:
    """P6: a patch that fails the next run is no patch for a pipeline."""
    done = apply_patches([SERVICE], {"target": {"kind": "Service"}, "patch": patch})
    warnings = "".join(text for text in done.messages("warning") if "a second run" in text)
    assert bool(warnings) is bool(warns)
    assert warnings.startswith(f"functionConfig: patches[0]: a second run of this JSON patch {warns}" if warns else "")


def test_a_second_run_that_fails_for_one_resource_of_several() -> None:
    other = SERVICE.replace("name: dns", "name: second").replace("  ports:\n", "  ports:\n  - {port: 1}\n")
    remove = "- {op: remove, path: /spec/ports/1}"
    done = apply_patches([other, SERVICE], {"target": {"kind": "Service"}, "patch": remove})
    (warning,) = done.messages("warning")
    assert "fails: Service dns: operation 1, " in warning


def test_json_patches_keep_comments_too() -> None:
    patch = "- {op: add, path: /spec/ports/0, value: {port: 80}}\n- {op: replace, path: /spec/ports/2/name, value: u}"
    done = apply_patches([SERVICE], {"target": {"kind": "Service"}, "patch": patch})
    assert done.text.endswith(
        "    ports:\n    - port: 80\n    - port: 53 # for zones\n      name: tcp\n"
        "    - name: u # for names\n      port: 53\n      protocol: UDP\n"
    )
    # Of a key field, too.
    done = apply_patches(
        [SERVICE], {"target": {"kind": "Service"}, "patch": "- {op: replace, path: /spec/ports/0/port, value: 54}"}
    )
    assert "    - port: 54 # for zones\n      name: tcp\n" in done.text


WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nparts: [{id: 1}, {id: 2}, {id: 3}]\n"


def test_a_replaced_list_that_no_schema_knows_is_told() -> None:
    patch = {"target": {"kind": "Widget"}, "patch": "parts: [{id: 1, n: 9}]"}
    done = apply_patches([WIDGET], patch)
    assert done.items[0]["parts"] == [{"id": 1, "n": 9}]
    (warning,) = done.messages("warning")
    assert "patches[0] replaces parts" in warning
    assert "3 elements became 1; name `listKeys`" in warning
    keys = [{"apiVersion": "example.com/v1", "kind": "Widget", "path": "parts", "keys": ["id"]}]
    assert apply_patches([WIDGET], patch, listKeys=keys).messages("warning") == []
    assert apply_patches([WIDGET], {**patch, "type": "merge"}).messages("warning") == []


KEYS = [{"apiVersion": "example.com/v1", "kind": "Widget", "path": "parts", "keys": ["id", "zone"]}]


@pytest.mark.parametrize(
    ("parts", "patch", "says"),
    [
        (
            "[{id: 1, zone: a}, {id: 1, zone: a, n: 2}]",
            "[{id: 1, zone: a, n: 9}]",
            '"zone": "a"} and {"id": 1, "zone": "a"',
        ),
        (
            "[{id: 1, zone: b}]",
            "[{id: 1, zone: a, n: 8}, {id: 1, zone: a, n: 9}]",
            "elements have the same merge key 1, a: ",
        ),
        ("[]", "[{id: 1, zone: a, n: 8}, {id: 1, zone: a, n: 9}]", "elements have the same merge key 1, a: "),
    ],
    ids=["in-the-resource", "in-the-patch", "in-the-patch-alone"],
)
def test_elements_with_equal_keys_are_refused(parts: str, patch: str, says: str) -> None:
    """P3: which one a patch is for is unknown, also where several fields are the key. Others are left alone."""
    widget = f"apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: w}}\nparts: {parts}\n"
    (error,) = refuse([widget], {"target": {"kind": "Widget"}, "patch": f"parts: {patch}"}, listKeys=KEYS)
    assert says in error
    other = {"target": {"kind": "Widget"}, "patch": "parts: [{id: 1, zone: c}]"}
    assert apply_patches([widget], other, listKeys=KEYS).items[0]["parts"][-1] == {"id": 1, "zone": "c"}


VOLUME = "spec: {template: {spec: {volumes: [{name: v, "
DEPLOYED = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  strategy: {rollingUpdate: {maxSurge: 1}}\n"
    "  template:\n    spec:\n      containers:\n      - {name: web, image: nginx}\n"
    "      volumes:\n      - {name: v, configMap: {name: c}}\n"
)


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        (
            {"patch": VOLUME + "emptyDir: {}}]}}}"},
            "V7 spec.template.spec.volumes[name=v] has configMap and emptyDir, which exclude each other, "
            "after patches[0]",
        ),
        (
            {"type": "merge", "patch": "spec: {strategy: {type: Recreate}}"},
            "V7 spec.strategy has type Recreate and rollingUpdate, which exclude each other, after patches[0]",
        ),
        (
            {"patch": "[{op: add, path: /spec/template/spec/containers/-, value: {name: web, image: envoy}}]"},
            "P3 spec.template.spec.containers has 2 elements with the key web, after patches[0]",
        ),
        (
            {"type": "merge", "patch": "spec: {template: {spec: {containers: [{name: a}, {name: a}]}}}"},
            "P3 spec.template.spec.containers has 2 elements with the key a, after patches[0]",
        ),
        ({"patch": VOLUME + "configMap: null, emptyDir: {}}]}}}"}, ""),
        ({"patch": "spec: {template: {spec: {containers: [{name: web, image: envoy}, {name: log}]}}}"}, ""),
    ],
)
def test_what_the_type_does_not_allow_is_a_warning(patch: dict[str, str], says: str) -> None:
    done = apply_patches([DEPLOYED], {"target": {"kind": "Deployment"}, **patch})
    warnings = [result for result in done.results if result["tags"].get("rule") in ("V7", "P3")]
    assert [f"{w['tags']['rule']} {w['message'].partition(': ')[2]}" for w in warnings] == ([says] if says else [])
    # What is there already is nobody's news.
    again = apply_patches(
        [yaml.safe_dump(done.items[0])], {"target": {"kind": "Deployment"}, "patch": "spec: {replicas: 2}"}
    )
    assert not [result for result in again.results if result["tags"].get("rule") in ("V7", "P3")]


PORTS_OF_A_WIDGET = (
    "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"
    "ports: [{host: a, port: 1, n: 1}, {host: a, port: 2, n: 2}, {host: b, port: 1, n: 3}]\n"
)


@pytest.mark.parametrize("key", ['"host,port"', "'host, port'", "[host, port]", '["host,port"]', None])
def test_several_key_fields_in_one_text(key: str | None) -> None:
    """The form of *Multi-fields Merge Key*: in `listKeys`, and in a definition (None)."""
    patch = {"target": {"kind": "Widget"}, "patch": "ports: [{host: a, port: 2, n: 9}]"}
    if key is None:
        definition = (
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: w}\nspec:\n"
            "  group: example.com\n  names: {kind: Widget}\n  versions:\n  - name: v1\n    schema:\n"
            "      openAPIV3Schema: {properties: {ports: {type: array, x-kubernetes-patch-merge-key: 'host,port'}}}\n"
        )
        done = apply_patches([definition, PORTS_OF_A_WIDGET], patch)
    else:
        keys = [{"apiVersion": "example.com/v1", "kind": "Widget", "path": "ports", "keys": yaml.safe_load(key)}]
        done = apply_patches([PORTS_OF_A_WIDGET], patch, listKeys=keys)
    assert [port["n"] for port in done.items[-1]["ports"]] == [1, 9, 3]
    assert done.messages("warning") == []


@pytest.mark.parametrize("keys", ["", ",", [], [""], 1, [1]])
def test_keys_that_are_none(keys: Any) -> None:
    entry = {"apiVersion": "example.com/v1", "kind": "Widget", "path": "ports", "keys": keys}
    assert "listKeys[0].keys" in refuse([PORTS_OF_A_WIDGET], {"target": {}, "patch": HIT}, listKeys=[entry])[0]
