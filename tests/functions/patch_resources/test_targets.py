"""PatchResources from bytes to bytes: which resources are patched, patches that are items, and types and options."""

from __future__ import annotations

import json

import pytest
import yaml

from functions.patch_resources.patched import DEPLOYMENT, HIT, NAMED_PATCH, Done, apply_patches, config_of, refuse
from functions.streams import HEAD, ID, INDEX, OTHER, PATH, SERVICE, Value, as_item

# ---- what is patched -------------------------------------------------------------------------------------------------


def test_everything_else_stays_byte_for_byte() -> None:
    done = apply_patches(
        [OTHER, DEPLOYMENT, SERVICE],
        """\
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec:
          replicas: 3
          template:
            spec:
              containers:
              - {name: web, image: "nginx:1.27"}
        """,
    )
    changed = DEPLOYMENT.replace("replicas: 1", "replicas: 3").replace("nginx:1.25", "nginx:1.27")
    changed = "".join(line for line in changed.splitlines(keepends=True) if "/id: " not in line)
    assert done.text == HEAD + as_item(OTHER) + as_item(changed) + as_item(SERVICE)
    (result,) = done.results
    assert result == {
        "message": "functionConfig: patches[0] matches 1 resource, changes 1: Deployment shop/web",
        "severity": "info",
        "field": {"path": "patches[0]"},
        "tags": {"rule": "P4"},
    }


def test_line_ends_stay() -> None:
    done = Done(
        [DEPLOYMENT, OTHER], config_of({"target": {"kind": "Deployment"}, "patch": "spec: {replicas: 3}"}), crlf=True
    )
    assert done.exit_code == 0
    assert "replicas: 3 # few\n" in done.text
    assert done.text.endswith(as_item(OTHER))


def test_only_edited_items_lose_their_ids() -> None:
    """W3; a patch that changes nothing edits nothing."""
    done = apply_patches([DEPLOYMENT, SERVICE], {"target": {}, "patch": "metadata: {labels: {app: web, tier: front}}"})
    assert as_item(DEPLOYMENT) in done.text
    assert ID not in done.items[1]["metadata"]["annotations"]
    assert done.messages("info") == ["functionConfig: patches[0] matches 2 resources, changes 1: Service dns"]


@pytest.mark.parametrize(
    "patch",
    [
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1}\n",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {none: null}\n",
    ],
)
def test_a_patch_of_what_is_there_changes_no_byte(patch: str) -> None:
    done = apply_patches([DEPLOYMENT, SERVICE], patch)
    assert done.text == done.before
    assert done.messages("info") == ["functionConfig: patches[0] matches 1 resource, changes none"]


TARGETS = [
    # target, the items that it selects
    ({}, ["web", "dns", "other"]),
    ({"kind": "Deployment"}, ["web"]),
    ({"kind": "Deploy"}, []),
    ({"kind": "Deployment|Service"}, ["web", "dns"]),
    ({"kind": ".*"}, ["web", "dns", "other"]),
    ({"group": "apps"}, ["web"]),
    ({"group": "^$"}, ["dns", "other"]),
    ({"group": "", "namespace": ""}, ["web", "dns", "other"]),
    ({"group": "app"}, []),
    ({"version": "v1"}, ["web", "dns", "other"]),
    ({"version": "v"}, []),
    ({"version": "v[0-9]", "group": "a.*"}, ["web"]),
    ({"name": "web|dns"}, ["web", "dns"]),
    ({"name": "^w.b$"}, ["web"]),
    ({"name": "e"}, []),
    ({"namespace": "shop"}, ["web"]),
    ({"namespace": "^$"}, ["dns", "other"]),
    ({"namespace": "sho"}, []),
    ({"labelSelector": "app=web,tier in (front, back)"}, ["web"]),
    ({"labelSelector": "app!=web"}, ["dns", "other"]),
    ({"labelSelector": "!app"}, ["dns", "other"]),
    ({"annotationSelector": "team=red"}, ["web"]),
    ({"annotationSelector": "team"}, ["web"]),
    ({"kind": "Deployment", "labelSelector": "app=db"}, []),
    ({"kind": "Service|Deployment", "namespace": "^$", "name": "d.*"}, ["dns"]),
    ({"kind": None, "name": None}, ["web", "dns", "other"]),
]


@pytest.mark.parametrize(("target", "names"), TARGETS)
@pytest.mark.parametrize("type_", [None, "merge"])
def test_targets(target: Value, names: list[str], type_: str | None) -> None:
    done = apply_patches([DEPLOYMENT, SERVICE, OTHER], {"target": target, "patch": HIT, "type": type_})
    assert done.targets() == names
    if not names:
        assert done.text == done.before
        (warning,) = done.results
        assert warning == {
            "message": "functionConfig: patches[0] matches nothing in the package; check its target",
            "severity": "warning",
            "field": {"path": "patches[0]"},
            "tags": {"rule": "P4"},
        }


NAMED = [
    ({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}, ["web"]),
    ({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}, ["web"]),
    ({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "s.*"}}, []),
    ({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w.b"}}, []),
    ({"apiVersion": "apps/v2", "kind": "Deployment", "metadata": {"name": "web"}}, []),
    ({"apiVersion": "v1", "kind": "Deployment", "metadata": {"name": "web"}}, []),
]


@pytest.mark.parametrize(("head", "names"), NAMED)
def test_a_patch_that_names_its_object(head: Value, names: list[str]) -> None:
    patch = {**head, "metadata": {**head["metadata"], "annotations": {"hit": "here"}}}
    assert apply_patches([DEPLOYMENT, SERVICE, OTHER], json.dumps(patch)).targets() == names


def test_a_target_comes_before_the_name_in_the_patch() -> None:
    patch = "apiVersion: v1\nkind: Any\nmetadata:\n  name: not-important\n  annotations: {hit: here}\n"
    done = apply_patches([DEPLOYMENT, SERVICE, OTHER], {"target": {"kind": "Service"}, "patch": patch})
    assert done.targets() == ["dns"]
    assert (done.items[1]["kind"], done.items[1]["metadata"]["name"]) == ("Service", "dns")


def test_several_documents_in_one_patch() -> None:
    heads = ("apps/v1\nkind: Deployment\nmetadata:\n  name: web", "v1\nkind: Service\nmetadata:\n  name: dns")
    text = "---\n".join(f"apiVersion: {head}\n  annotations: {{hit: here}}\n" for head in heads)
    done = apply_patches([DEPLOYMENT, SERVICE, OTHER], text)
    assert done.targets() == ["web", "dns"]
    assert done.messages("info") == [
        "functionConfig: patches[0] document 1 (Deployment web) matches 1 resource, changes 1: Deployment shop/web",
        "functionConfig: patches[0] document 2 (Service dns) matches 1 resource, changes 1: Service dns",
    ]
    assert {result["field"]["path"] for result in done.results} == {"patches[0]"}


def test_messages_say_which_of_several_documents() -> None:
    """P4: nobody finds the wrong one of a hundred."""
    wrong = NAMED_PATCH.replace("name: web", "name: wep")
    done = apply_patches([DEPLOYMENT], f"{NAMED_PATCH}---\n{wrong}")
    assert done.messages("warning") == [
        "functionConfig: patches[0] document 2 (Deployment wep) matches nothing in the package; "
        "check the object that it names"
    ]
    errors = refuse([DEPLOYMENT], f"{NAMED_PATCH}---\nspec: {{}}\n---\nkind: Deployment\n")
    assert [error.partition(": target is missing")[0] for error in errors] == [
        "functionConfig: patches[0] document 2",
        "functionConfig: patches[0] document 3 (Deployment)",
    ]
    (error,) = refuse(
        [DEPLOYMENT], f"{NAMED_PATCH}---\n{NAMED_PATCH}spec: {{template: {{spec: {{containers: [{{}}]}}}}}}\n"
    )
    assert error.startswith(
        "Deployment shop/web: patches[0] document 2 (Deployment web): spec.template.spec.containers: "
    )


def test_patches_are_applied_one_after_the_other() -> None:
    done = apply_patches(
        [SERVICE],
        {"target": {"kind": "Service"}, "patch": "metadata: {labels: {step: one}}"},
        {"target": {"labelSelector": "step=one"}, "patch": "metadata: {labels: {step: two}}"},
        {"target": {"labelSelector": "step=one"}, "patch": "metadata: {labels: {step: three}}"},
    )
    assert done.items[0]["metadata"]["labels"] == {"step": "two"}
    results = [result["message"] for result in done.results if "functionConfig" in result["message"]]
    assert ["matches nothing" in message for message in results] == [False, False, True]


def test_many_changed_resources_are_counted() -> None:
    items = [OTHER.replace("name: other", f"name: o{number}") for number in range(8)]
    done = apply_patches(items, {"target": {"kind": "ConfigMap"}, "patch": HIT})
    names = ", ".join(f"ConfigMap o{number}" for number in range(5))
    assert done.messages("info") == [f"functionConfig: patches[0] matches 8 resources, changes 8: {names} and 3 more"]


# ---- patches that are items ------------------------------------------------------------------------------------------

PATCH_ITEM = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: # a patch
  name: web
  annotations:
    config.kubernetes.io/local-config: "true"
    {PATH}: patches/web.yaml
    internal.config.kubernetes.io/index: '0'
    {ID}: '4'
    note: from the patch
spec:
  replicas: 3
"""


def test_a_patch_that_is_an_item() -> None:
    done = apply_patches([DEPLOYMENT, PATCH_ITEM, OTHER], {"path": "patches/web.yaml"})
    assert as_item(PATCH_ITEM) + as_item(OTHER) in done.text
    assert done.items[0]["spec"]["replicas"] == 3
    annotations = done.items[0]["metadata"]["annotations"]
    assert annotations == {"team": "red", PATH: "apps/web.yaml", "note": "from the patch"}


def test_an_item_that_is_a_patch_is_not_patched() -> None:
    done = apply_patches(
        [PATCH_ITEM, DEPLOYMENT],
        {"path": "patches/web.yaml"},
        {"target": {"kind": "Deployment"}, "patch": HIT},
    )
    assert done.text.startswith(HEAD + as_item(PATCH_ITEM))
    assert "hit" in done.items[1]["metadata"]["annotations"]
    assert done.messages("info")[1].endswith("matches 1 resource, changes 1: Deployment shop/web")


def test_several_documents_in_the_file_of_a_patch() -> None:
    second = PATCH_ITEM.replace("apps/v1\nkind: Deployment", "v1\nkind: Service").replace("name: web", "name: dns")
    second = second.replace("spec:\n  replicas: 3\n", "spec:\n  type: ClusterIP\n")
    done = apply_patches([DEPLOYMENT, SERVICE, PATCH_ITEM, second], {"path": "patches/web.yaml"})
    assert done.items[0]["spec"]["replicas"] == 3
    assert done.items[1]["spec"]["type"] == "ClusterIP"


@pytest.mark.parametrize(
    ("path", "replicas"), [("patches/web.yaml", 3), ("sub/patches/web.yaml", 4), ("./patches//web.yaml", 3)]
)
def test_files_of_patches_in_packages_of_a_render(path: str, replicas: int) -> None:
    """Items of a subpackage may have the same path."""
    package = "    internal.config.kubernetes.io/package-path: /pkg{}\n"
    root, sub = (
        PATCH_ITEM.replace("spec:\n", package.format(folder) + "spec:\n").replace("replicas: 3", f"replicas: {count}")
        for folder, count in (("", 3), ("/sub", 4))
    )
    done = apply_patches([sub, DEPLOYMENT, root], {"path": path})
    assert done.items[1]["spec"]["replicas"] == replicas
    assert len(done.messages("info")) == 1


def test_an_item_as_merge_patch_of_other_resources() -> None:
    item = PATCH_ITEM.replace("replicas: 3", "template: {spec: {containers: [{name: only}]}}")
    target = {"kind": "Deployment", "name": "web"}
    done = apply_patches([DEPLOYMENT, item], {"path": "patches/web.yaml", "type": "merge", "target": target})
    assert done.items[0]["spec"] == {"replicas": 1, "template": {"spec": {"containers": [{"name": "only"}]}}}


# ---- types and options -----------------------------------------------------------------------------------------------


def test_types() -> None:
    target = {"kind": "Deployment"}
    containers = "spec: {template: {spec: {containers: [{name: web, image: new}]}}}"
    operation = "- {op: replace, path: /spec/template/spec/containers/0/image, value: new}"
    for fields, images in [
        ({"patch": containers}, ["fluent:1.0", "new"]),
        ({"patch": containers, "type": "strategic"}, ["fluent:1.0", "new"]),
        ({"patch": containers, "type": "merge"}, ["new"]),
        ({"patch": operation}, ["new", "nginx:1.25"]),
        ({"patch": operation, "type": "json"}, ["new", "nginx:1.25"]),
        ({"patch": operation[2:], "type": "json"}, ["new", "nginx:1.25"]),
        ({"patch": json.dumps(yaml.safe_load(operation))}, ["new", "nginx:1.25"]),
    ]:
        done = apply_patches([DEPLOYMENT], {"target": target, **fields})
        patched = done.items[0]["spec"]["template"]["spec"]["containers"]
        assert [container["image"] for container in patched] == images


WRONG = [
    # an entry, what is said of it
    ({"patch": "[]", "type": "strategic", "target": {}}, "a strategic patch is a mapping, and this is a list"),
    ({"patch": "[]", "type": "merge", "target": {}}, "a merge patch is a mapping, and this is a list"),
    ({"patch": "a: 1", "type": "json", "target": {}}, "a json patch is a list of operations, and this is a mapping"),
    ({"path": "patches/web.yaml", "type": "json"}, "a json patch is a list of operations, and this is a mapping"),
    ({"patch": "[{op: add, path: /a, value: 1}]"}, "target is missing"),
    ({"patch": "spec: {}"}, "target is missing"),
    ({"patch": "apiVersion: v1\nkind: Service\n"}, "target is missing"),
    ({"patch": "text", "target": {}}, "a patch is a mapping or a list of operations"),
    ({"patch": "a: 1\n---\na: 2\n", "target": {}}, "target is for one patch, and this text holds 2"),
    ({"patch": "a: 1\na: 2\n", "target": {}}, "the key a appears twice"),
    ({"patch": "a: [", "target": {}}, "not valid YAML"),
    ({"target": {}}, "give either patch or path"),
    ({"target": {}, "patch": "a: 1", "path": "web.yaml"}, "give either patch or path"),
    ({"path": "none.yaml"}, "no item of the package has the file none.yaml"),
    ({"patch": "a: 1", "target": {"name": "("}}, "target.name is '(', not a regular expression of RE2: missing )"),
    ({"patch": "a: 1", "target": {"kind": "(a)\\1"}}, "not a regular expression of RE2: invalid escape sequence"),
    ({"patch": "a: 1", "target": {"labelSelector": "a in b"}}, "cannot read the selector 'a in b' at column 1"),
    ({"patch": "- {op: move, path: /a}", "target": {}}, "operation 1, "),
    ({"patch": "- {op: jump, path: /a}", "target": {}}, "operation 1, "),
    ({"patch": "- {op: add, path: a, value: 1}", "target": {}}, "operation 1, "),
    ({"patch": "- text", "target": {}}, 'operation 1 is "(redacted)"; a mapping with op and path is expected'),
]


@pytest.mark.parametrize(("entry", "says"), WRONG)
def test_wrong_entries(entry: Value, says: str) -> None:
    good = {"target": {"kind": "ConfigMap"}, "patch": HIT}
    done = Done([OTHER, PATCH_ITEM], config_of(good, entry))
    assert done.exit_code == 1
    (error,) = done.results
    assert error["message"].startswith("functionConfig: patches[1]: ")
    assert says in error["message"]
    assert error["field"] == {"path": "patches[1]"}


FIELDS = [
    ({"patches": []}, "patches"),
    ({"patches": None}, "patches"),
    ({"patches": [{"patches": "a: 1"}]}, "patches[0].patches"),
    ({"patches": [{"patch": {"a": 1}}]}, "patches[0].patch"),
    ({"patches": [{"patch": "a: 1", "type": "strategicMerge"}]}, "patches[0].type"),
    ({"patches": [{"patch": "a: 1", "target": {"names": "x"}}]}, "patches[0].target.names"),
    ({"patches": [{"patch": "a: 1", "options": {"allowNameChange": "yes"}}]}, "patches[0].options.allowNameChange"),
    ({"listOrder": "kubectl"}, "listOrder"),
    ({"mergeKeys": "all"}, "mergeKeys"),
    ({"listKeys": [{"kind": "A"}]}, "listKeys[0].apiVersion"),
    ({"onConflict": "local"}, "onConflict"),
]


@pytest.mark.parametrize(("change", "path"), FIELDS)
def test_wrong_fields(change: Value, path: str) -> None:
    done = Done([OTHER], {**config_of(HIT), **change})
    assert done.exit_code == 1
    assert path in [result["field"]["path"] for result in done.results]


def test_all_errors_of_the_configuration_at_once() -> None:
    messages = refuse([OTHER], {"patch": "spec: {}"}, {"path": "a.yaml"}, {"target": {}, "patch": "["}, {"target": {}})
    assert [message.split(": ")[1] for message in messages] == [f"patches[{at}]" for at in range(4)]


NAMES = "{apiVersion: apps/v2, kind: StatefulSet, metadata: {name: new, namespace: other}}"
RENAMES = [
    {"patch": NAMES},
    {"patch": NAMES, "type": "merge"},
    {
        "patch": "- {op: replace, path: /metadata/name, value: new}\n"
        "- {op: replace, path: /metadata/namespace, value: other}\n"
        "- {op: replace, path: /kind, value: StatefulSet}\n"
        "- {op: replace, path: /apiVersion, value: apps/v2}\n"
    },
]


@pytest.mark.parametrize("patch", RENAMES)
@pytest.mark.parametrize("name", [True, False])
@pytest.mark.parametrize("kind", [True, False])
def test_identity_changes_only_where_that_is_allowed(patch: Value, name: bool, kind: bool) -> None:
    options = {"allowNameChange": name, "allowKindChange": kind}
    done = apply_patches([DEPLOYMENT], {"target": {"kind": "Deployment"}, "options": options, **patch})
    (item,) = done.items
    assert (item["apiVersion"], item["kind"]) == (("apps/v2", "StatefulSet") if kind else ("apps/v1", "Deployment"))
    metadata = item["metadata"]
    assert (metadata["name"], metadata["namespace"]) == (("new", "other") if name else ("web", "shop"))
    if not name and not kind:
        assert done.text == done.before


def test_a_changed_kind_is_what_later_patches_see() -> None:
    rename = {"target": {"kind": "Deployment"}, "patch": "kind: DaemonSet", "options": {"allowKindChange": True}}
    done = apply_patches([DEPLOYMENT, OTHER], rename, {"target": {"kind": "DaemonSet"}, "patch": HIT})
    assert done.targets() == ["web"]


def test_a_changed_name_is_what_later_patches_see() -> None:
    rename = {"target": {"name": "web"}, "patch": "metadata: {name: new}", "options": {"allowNameChange": True}}
    before, after = ({"target": {"name": name}, "patch": HIT} for name in ("web", "new"))
    done = apply_patches([DEPLOYMENT, OTHER], rename, before, after)
    assert done.targets() == ["new"]
    assert "patches[1] matches nothing" in done.messages("warning")[0]


def test_a_namespace_is_not_given_to_what_has_none() -> None:
    done = apply_patches(
        [SERVICE], {"target": {"kind": "Service"}, "patch": "metadata: {namespace: x, labels: {a: b}}"}
    )
    assert "namespace" not in done.items[0]["metadata"]
    assert done.items[0]["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    "patch",
    [
        {"patch": "metadata: {annotations: null}"},
        {"patch": "metadata: {annotations: {$patch: replace}}"},
        {"patch": "metadata: {annotations: null}", "type": "merge"},
        {"patch": "- {op: remove, path: /metadata/annotations}"},
        {"patch": "- {op: replace, path: /metadata/annotations, value: {}}"},
        {"patch": "- {op: replace, path: /metadata/annotations, value: null}"},
    ],
)
def test_what_kpt_keeps_in_annotations_stays(patch: Value) -> None:
    """Without its path kpt would take the object for a new one, and delete its file."""
    done = apply_patches([DEPLOYMENT], {"target": {"kind": "Deployment"}, **patch})
    assert done.items[0]["metadata"]["annotations"] == {PATH: "apps/web.yaml"}
    result = "".join(
        line for line in DEPLOYMENT.splitlines(keepends=True) if "/id: " not in line and "team:" not in line
    )
    assert done.text == HEAD + as_item(result)


@pytest.mark.parametrize("name", [PATH, INDEX, "config.kubernetes.io/path", "internal.config.kubernetes.io/seqindent"])
@pytest.mark.parametrize("type_", ["strategic", "merge", "json"])
def test_what_kpt_keeps_in_annotations_is_not_changed_or_added(name: str, type_: str) -> None:
    """P5: with another path kpt would move the file."""
    pointer = name.replace("/", "~1")
    operations = f"- {{op: add, path: /metadata/annotations/{pointer}, value: evil.yaml}}"
    patch = f"metadata: {{annotations: {{{name}: evil.yaml}}}}" if type_ != "json" else operations
    done = apply_patches([DEPLOYMENT], {"target": {"kind": "Deployment"}, "patch": patch, "type": type_})
    assert done.text == done.before
    assert done.messages("info") == ["functionConfig: patches[0] matches 1 resource, changes none"]


def test_annotations_of_kpt_alone_make_no_annotations() -> None:
    bare = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bare}\n"
    done = apply_patches([bare], {"target": {}, "patch": f"metadata: {{annotations: {{{PATH}: evil.yaml}}}}"})
    assert done.text == done.before


@pytest.mark.parametrize("patch", [{"patch": "metadata: null"}, {"patch": "- {op: remove, path: /metadata}"}])
def test_the_name_cannot_be_removed(patch: Value) -> None:
    done = apply_patches([DEPLOYMENT], {"target": {"kind": "Deployment"}, **patch})
    metadata = done.items[0]["metadata"]
    assert (metadata["name"], metadata["namespace"], metadata["annotations"]) == (
        "web",
        "shop",
        {PATH: "apps/web.yaml"},
    )


@pytest.mark.parametrize(
    ("patch", "path"),
    [
        ("- {op: replace, path: /metadata, value: text}", "metadata"),
        ("- {op: replace, path: /metadata/annotations, value: [a]}", "metadata.annotations"),
        ("metadata: {name: null}", "metadata.name"),
        ("metadata: {name: {a: b}}", "metadata.name"),
        ("metadata: {namespace: [a]}", "metadata.namespace"),
        ("metadata: null", "metadata.name"),
        ("kind: null", "kind"),
    ],
)
def test_what_leaves_no_object_is_refused(patch: str, path: str) -> None:
    options = {"allowNameChange": True, "allowKindChange": True}
    done = Done([DEPLOYMENT], config_of({"target": {"kind": "Deployment"}, "patch": patch, "options": options}))
    assert done.exit_code == 1
    assert [result["field"]["path"] for result in done.results] == [path]


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        (
            "- {op: test, path: /data/password, value: aGlkZGVu}",
            '{"op": "test", "path": "/data/password", "value": "(redacted)"}: the value there differs',
        ),
        ("- {op: replace, path: /data/none, value: aGlkZGVu}", "can't replace a non-existent object 'none'"),
        ("- {op: test, path: /data/none, value: aGlkZGVu}", "member 'none' not found"),
        ("- {op: copy, from: /data/none, path: /data/b}", '"from": "/data/none"}: it cannot be applied'),
        ("- {op: add, path: /data/password/a/b, value: aGlkZGVu}", "operation 1, "),
        ("- {op: add, path: /a, value: aGlkZGVu}\n- {op: remove, path: /data/zz}", "operation 2, "),
        ("- {op: replace, path: '', value: [aGlkZGVu]}", 'the patch leaves ["(redacted)"] in place'),
        (f"- {{op: test, path: /data/{'x' * 300}, value: aGlkZGVu}}", "operation 1, "),
        ("- {op: replace, path: /metadata, value: aGlkZGVu}", "metadata: a mapping is expected"),
        ("data: {$retainKeys: [a], password: aGlkZGVu}", "data.$retainKeys: invalid patch format of retainKeys"),
        (
            "metadata: {ownerReferences: [{name: aGlkZGVu}]}",
            'metadata.ownerReferences: map: {"name": "(redacted)"} does not contain declared merge key: uid',
        ),
    ],
)
def test_errors_tell_no_values_of_secrets(patch: str, says: str) -> None:
    """But where it is, and what is wrong there (P4)."""
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, ownerReferences: [{uid: a, name: b}]}\n"
    done = Done([secret + "data: {password: c2VjcmV0}\n"], config_of({"target": {"kind": "Secret"}, "patch": patch}))
    assert done.exit_code == 1
    (error,) = done.messages("error")
    assert error.startswith("Secret s: patches[0]: ")
    assert says in error
    assert "c2VjcmV0" not in error
    assert "aGlkZGVu" not in error


@pytest.mark.parametrize(
    "patch",
    [
        "- {op: test, path: /spec/template/spec/containers/0/env/0/value, value: aGlkZGVu}",
        "- {op: test, path: /spec/template, value: aGlkZGVu}",
        "- {op: replace, path: '', value: [aGlkZGVu]}",
    ],
)
def test_errors_tell_no_values_of_variables(patch: str) -> None:
    env = "spec: {template: {spec: {containers: [{name: c, env: [{name: DB_PASSWORD, value: c2VjcmV0}]}]}}}\n"
    text = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\n{env}"
    (error,) = Done([text], config_of({"target": {"kind": "Deployment"}, "patch": patch})).messages("error")
    assert "c2VjcmV0" not in error
    assert "aGlkZGVu" not in error


def test_errors_tell_no_secret_values_of_patches() -> None:
    patch = "- {op: test, path: /data/API_TOKEN, value: aGlkZGVu}"
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {API_TOKEN: {a: b}}\n"
    (error,) = Done([text], config_of({"target": {"kind": "ConfigMap"}, "patch": patch})).messages("error")
    assert "aGlkZGVu" not in error


@pytest.mark.parametrize("kind", ["v1\nkind: List", "v1\nkind: ServiceList\nmetadata: {}"])
def test_the_items_of_a_list_are_resources(kind: str) -> None:
    """R7: each is patched in its own text, and may be removed; the List itself gets nothing."""
    items = f"apiVersion: {kind}\nitems:\n{as_item(SERVICE)}{as_item(OTHER)}"
    done = apply_patches([items, OTHER], {"target": {"kind": "Service"}, "patch": HIT})
    (list_, other) = done.items
    assert "annotations" not in list_.get("metadata", {})
    assert ["hit" in item["metadata"].get("annotations", {}) for item in (*list_["items"], other)] == [
        True,
        False,
        False,
    ]
    assert done.messages("info") == ["functionConfig: patches[0] matches 1 resource, changes 1: Service dns"]
    done = apply_patches([items], {"target": {"kind": "Service"}, "patch": "$patch: delete"})
    assert [item["kind"] for item in done.items[0]["items"]] == ["ConfigMap"]


def test_a_resource_with_a_name_is_no_list() -> None:
    allowed = f"apiVersion: example.com/v1\nkind: AllowList\nmetadata: {{name: a}}\nitems:\n{as_item(SERVICE)}"
    done = apply_patches([allowed], {"target": {"kind": "Service"}, "patch": HIT})
    assert done.text == HEAD + as_item(allowed)


def test_a_patch_that_removes_the_object() -> None:
    patch = "apiVersion: v1\nkind: Service\nmetadata: {name: dns}\n$patch: delete\n"
    done = apply_patches([DEPLOYMENT, SERVICE, OTHER], patch)
    assert done.text == HEAD + as_item(DEPLOYMENT) + as_item(OTHER)
    assert done.messages("info") == [
        "Service dns: removed by patches[0]",
        "functionConfig: patches[0] matches 1 resource, changes 1: Service dns",
    ]
    assert done.results[0]["file"] == {"path": "dns.yaml", "index": 2}


def test_the_last_item_may_go() -> None:
    done = apply_patches([SERVICE], {"target": {}, "patch": "$patch: delete"})
    assert done.items == []


def test_a_removal_is_none_in_kubectl() -> None:
    (error,) = refuse([SERVICE], {"target": {}, "patch": "$patch: delete"}, listOrder="kubernetes")
    assert error.startswith("Service dns: patches[0]: ")
    assert "use listOrder: document" in error


def test_a_merge_patch_has_no_directives() -> None:
    """P4: it would leave them in the resource."""
    (error,) = refuse([OTHER], {"target": {}, "type": "merge", "patch": "data: {$patch: delete}"})
    assert error.startswith("functionConfig: patches[0]: data.$patch: a merge patch would write this directive")
