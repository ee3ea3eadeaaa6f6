"""Manifests in one file, merged into files that somebody else laid out (rule R7)."""

from __future__ import annotations

import json

import pytest

from krm_merge.packages.files.tree import PackageError
from vendored.versions import config_map, merge, service, stream

# ---- R7: where local has it ------------------------------------------------------------------------------------------


def test_a_resource_stays_in_the_file_where_local_has_it() -> None:
    local = {"ours/settings.yaml": config_map("a", x="1"), "b.yml": config_map("b", x="1")}
    done = merge(
        stream(config_map("a", x="1"), config_map("b", x="1")),
        stream(config_map("b", x="1"), config_map("a", x="2")),
        local,
    )
    assert done.files == {"ours/settings.yaml": config_map("a", x="2"), "b.yml": config_map("b", x="1")}
    assert done.changed == ["ours/settings.yaml"]


def test_comments_order_and_own_fields_of_local_files_are_kept() -> None:
    local = "# Ours.\n" + stream(
        config_map("b", x="1") + "  own: kept # why\n", config_map("mine"), "# about a\n" + config_map("a", x="1")
    )
    done = merge(
        stream(config_map("a", x="1"), config_map("b", x="1")),
        stream(config_map("a", x="2"), config_map("b", x="1", y="1")),
        {"all.yaml": local},
    )
    assert done.files["all.yaml"] == local.replace("own: kept # why\n", "own: kept # why\n  y: 1\n").replace(
        "name: a\ndata:\n  x: 1", "name: a\ndata:\n  x: 2"
    )


def test_a_deleted_resource_takes_its_emptied_file_along() -> None:
    local = {"a.yaml": config_map("a"), "two.yaml": stream(config_map("b"), config_map("mine"))}
    done = merge(stream(config_map("a"), config_map("b"), config_map("c")), config_map("c"), local)
    assert done.files == {"two.yaml": config_map("mine")}


def test_what_local_deleted_stays_deleted() -> None:
    done = merge(
        stream(config_map("a"), config_map("b", x="1")),
        stream(config_map("a"), config_map("b", x="2")),
        {"a.yaml": config_map("a")},
    )
    assert done.files == {"a.yaml": config_map("a")}
    assert len(done.warnings) == 1
    assert "local removed it, upstream changed it" in done.warnings[0]


def test_a_conflict_is_reported_for_the_file_of_local() -> None:
    done = merge(config_map("a", x="1"), config_map("a", x="2"), {"web/a.yaml": config_map("a", x="3")})
    assert done.files == {"web/a.yaml": config_map("a", x="2")}
    (conflict,) = (result for result in done.results if result.severity == "warning")
    assert conflict.file == "web/a.yaml"


def test_files_that_hold_no_resources_are_left_alone() -> None:
    others = {
        "README.md": "# Ours\n",
        "values.yaml": "a: 1\n",
        "broken.yaml": "a: [\n",
        "kustomization.yaml": "resources: []\n",
        "Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n",
    }
    done = merge(config_map("a"), config_map("a", x="1"), {"a.yaml": config_map("a"), **others})
    assert done.changed == ["a.yaml"]
    assert done.warnings == []


def test_what_cannot_be_read_is_left_alone_and_reported() -> None:
    broken = "text\n" + config_map("a", x="1")
    local = {"a.yaml": stream(config_map("c"), broken), "b.yaml": config_map("b", x="1")}
    done = merge(
        stream(config_map("a", x="1"), config_map("b", x="1"), config_map("c")),
        stream(config_map("a", x="1"), config_map("b", x="2"), config_map("c", x="2")),
        local,
    )
    assert done.files == {"a.yaml": stream(config_map("c", x="2"), broken), "b.yaml": config_map("b", x="2")}
    assert done.warnings[-1].startswith("deploy/a.yaml: line 7, column 11: not valid YAML")
    assert done.warnings[-1].endswith("; broken documents there stay as they are")


def test_a_directory_of_upstream_that_cannot_be_read_is_refused() -> None:
    upstream = {"a.yaml": config_map("a"), "b.yaml": "b: [\n"}
    with pytest.raises(PackageError, match=r"^new\.yaml/b\.yaml: line 2, column 1: not valid YAML"):
        merge(config_map("a"), upstream, {"a.yaml": config_map("a")})


def test_resources_of_local_alone_are_left_alone() -> None:
    manifest = stream(config_map("mine"), config_map("mine"))
    done = merge(config_map("a"), config_map("a", x="1"), {"a.yaml": config_map("a"), "own.yaml": manifest})
    assert done.changed == ["a.yaml"]


def test_a_rename_by_local_is_followed() -> None:
    before, after = config_map("web", x="1", y="1", z="1"), config_map("web", x="2", y="1", z="1")
    done = merge(before, after, {"a.yaml": config_map("our-web", x="1", y="1", z="1")})
    assert done.files == {"a.yaml": config_map("our-web", x="2", y="1", z="1")}


def test_a_rename_by_upstream_is_followed_in_the_file_of_local() -> None:
    before, after = config_map("web", x="1", y="1", z="1"), config_map("shop-web", x="1", y="1", z="1")
    done = merge(before, after, {"ours.yaml": config_map("web", x="1", y="1", z="1", own="1")})
    assert done.files == {"ours.yaml": config_map("shop-web", x="1", y="1", z="1", own="1")}


def test_resources_that_are_alike_are_no_rename() -> None:
    account = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {}\n"
    local = {"robot.yaml": account.format("robot"), "b.yaml": account.format("b")}
    done = merge(
        stream(account.format("deployer"), account.format("b")), stream(account.format("c"), config_map("x")), local
    )
    assert done.files == {
        "robot.yaml": account.format("robot"),
        "serviceaccount-c.yaml": account.format("c"),
        "configmap-x.yaml": config_map("x"),
    }


def test_a_rename_to_another_name_is_followed_where_kpt_notes_it() -> None:
    local = config_map("ours", x="1").replace("metadata:", "metadata: # kpt-merge: /a")
    done = merge(config_map("a", x="1"), config_map("a", x="2"), {"ours.yaml": local})
    assert done.files == {"ours.yaml": local.replace("x: 1", "x: 2")}


def test_another_api_version_is_the_same_resource() -> None:
    definition = (
        "apiVersion: apiextensions.k8s.io/{v}\nkind: CustomResourceDefinition\nmetadata:\n  name: a.example.com\n"
    )
    local = {"crds/a.yaml": definition.format(v="v1beta1")}
    done = merge(definition.format(v="v1beta1"), definition.format(v="v1"), local)
    assert done.files == {"crds/a.yaml": definition.format(v="v1")}


def test_line_ends_are_those_of_local() -> None:
    local = {"a.yaml": config_map("a", x="1", own="1").replace("\n", "\r\n")}
    done = merge(config_map("a", x="1"), config_map("a", x="2"), local)
    assert done.files == {"a.yaml": config_map("a", x="2", own="1").replace("\n", "\r\n")}


def test_a_file_can_be_merged_with_directories() -> None:
    original = {"x/a.yaml": config_map("a", x="1"), "notes.txt": "old"}
    upstream = {"y/a.yaml": config_map("a", x="2"), "b.yaml": config_map("b"), "notes.txt": "new"}
    done = merge(original, upstream, config_map("a", x="1", own="1"))
    assert done.files == {"deploy.yaml": stream(config_map("a", x="2", own="1"), config_map("b"))}


def test_a_directory_without_anything_of_upstream_is_reported() -> None:
    done = merge(config_map("a"), config_map("a", x="1"), {"own.yaml": config_map("mine")})
    assert done.warnings[-1] == "deploy has none of the resources of new.yaml; check that it is the right directory"


# ---- R7: one resource in two places ----------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["old.yaml", "new.yaml"])
def test_one_resource_twice_in_a_file_is_refused_with_both_places(side: str) -> None:
    once, twice = config_map("a"), stream(config_map("a"), service("b"), config_map("a"))
    original, upstream = (twice, once) if side == "old.yaml" else (once, twice)
    with pytest.raises(PackageError) as refused:
        merge(original, upstream, {"a.yaml": config_map("a")})
    assert str(refused.value) == f"ConfigMap a is in {side}:1 and {side}:14; keep one of each"


def test_one_resource_twice_in_local_is_refused_with_both_files() -> None:
    local = {"base/a.yaml": config_map("a"), "overlay/a.yaml": config_map("a", x="1")}
    with pytest.raises(PackageError) as refused:
        merge(config_map("a"), config_map("a", x="2"), local)
    assert str(refused.value) == (
        "ConfigMap a is in deploy/base/a.yaml:1 and deploy/overlay/a.yaml:1; keep one of each, "
        "or name the folder in deploy that holds what comes from upstream"
    )


def test_many_resources_twice_make_one_short_message() -> None:
    many = [config_map(f"a{number}") for number in range(30)]
    with pytest.raises(PackageError, match=r"; and 20 more; keep one of each$"):
        merge(stream(*many), stream(*many, *many), {})


# ---- namespaces ------------------------------------------------------------------------------------------------------


def test_a_namespace_that_local_gave_is_kept() -> None:
    done = merge(config_map("a", x="1"), config_map("a", x="2"), {"a.yaml": config_map("a", "web", x="1", own="1")})
    assert done.files == {"a.yaml": config_map("a", "web", x="2", own="1")}
    assert done.warnings == []


def test_a_namespace_that_local_took_away_stays_away() -> None:
    done = merge(
        config_map("a", "up", x="1"), config_map("a", "up", x="2"), {"a.yaml": config_map("a", x="1", own="1")}
    )
    assert done.files == {"a.yaml": config_map("a", x="2", own="1")}


def test_a_namespace_that_upstream_begins_to_give_is_taken() -> None:
    done = merge(config_map("a", x="1"), config_map("a", "up", x="1"), {"a.yaml": config_map("a", x="1")})
    assert done.files == {"a.yaml": config_map("a", "up", x="1")}


def test_two_namespaces_of_one_name_are_two_resources() -> None:
    local = {"a.yaml": stream(config_map("a", "one", p="1"), config_map("a", "two", q="1"))}
    done = merge(config_map("a", x="1"), config_map("a", x="2"), local)
    assert done.changed == []


# ---- Lists -----------------------------------------------------------------------------------------------------------

LIST = "apiVersion: v1\nkind: List\nitems:\n{items}"


def items(*documents: str) -> str:
    """Documents as a List."""
    indented = ("- " + text.replace("\n", "\n  ").rstrip(" ") for text in documents)
    return "apiVersion: v1\nkind: List\nitems:\n" + "".join(indented)


def test_the_items_of_a_list_upstream_are_resources() -> None:
    done = merge(
        items(config_map("a", x="1"), config_map("b")),
        items(config_map("a", x="2"), config_map("c")),
        {"a.yaml": config_map("a", x="1", own="1"), "b.yaml": config_map("b")},
    )
    assert done.files == {"a.yaml": config_map("a", x="2", own="1"), "configmap-c.yaml": config_map("c")}


def test_a_list_in_json_upstream_becomes_yaml_for_people() -> None:
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"x": "1"}}
    new = json.dumps({"apiVersion": "v1", "kind": "List", "items": [value]})
    done = merge(config_map("a"), stream(config_map("a"), new + "\n"), {"configmap-a.yaml": config_map("a")})
    assert done.files["configmap-b.yaml"] == config_map("b", x='"1"')


@pytest.mark.parametrize("kind", ["List", "ConfigMapList\nmetadata: {}"])
def test_resources_in_a_list_of_local_stay_in_it(kind: str) -> None:
    listed = items(config_map("mine"), config_map("a", x="1", own="1"), config_map("b"))
    local = {"all.yaml": listed.replace("List", kind)}
    done = merge(
        stream(config_map("a", x="1"), config_map("b")),
        stream(config_map("a", x="2"), config_map("c")),
        local,
    )
    merged = items(config_map("mine"), config_map("a", x="2", own="1"), config_map("c"))
    assert done.files == {"all.yaml": merged.replace("List", kind)}


def test_a_list_of_local_whose_items_are_all_deleted_is_deleted() -> None:
    local = {"list.yaml": items(config_map("a"), config_map("b")), "c.yaml": config_map("c")}
    done = merge(stream(config_map("a"), config_map("b"), config_map("c")), config_map("c"), local)
    assert done.files == {"c.yaml": config_map("c")}


def test_json_files_of_local_stay_json() -> None:
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "one"}}
    changed = {**value, "data": {"x": "two"}}
    done = merge(
        config_map("a", x="one"),
        stream(config_map("a", x="two"), config_map("b")),
        {"configmap-a.json": json.dumps(value, indent=2) + "\n"},
    )
    assert done.files["configmap-a.json"] == json.dumps(changed, indent=2) + "\n"
    assert done.files["configmap-b.yaml"] == config_map("b")


# ---- what cannot be read ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("hello\n", "new.yaml:1: the document is not a Kubernetes object: apiVersion and kind are expected"),
        ("replicas: 3\n", "new.yaml:1: the document is not a Kubernetes object: apiVersion and kind are expected"),
        (stream(config_map("a"), "a: [\n"), "new.yaml: line 7, column 1: not valid YAML"),
        (stream(config_map("a"), "apiVersion: v1\nkind: X\n"), "new.yaml:6: the document is a X without metadata.name"),
        ("# nothing\n---\n", "new.yaml holds no resources; all that deploy has of upstream would be deleted"),
        ("apiVersion: v1\nkind: List\nitems: [{a: 1}]\n", "new.yaml:1: items[0] is not a Kubernetes object"),
    ],
)
def test_a_file_of_something_else_is_refused(text: str, problem: str) -> None:
    with pytest.raises(PackageError) as refused:
        merge(config_map("a"), text, {"a.yaml": config_map("a")})
    assert problem in str(refused.value)


def test_all_problems_of_a_file_are_named_at_once() -> None:
    with pytest.raises(PackageError) as refused:
        merge(config_map("a"), stream("x: 1\n", config_map("a"), "a: [\n"), {})
    assert "new.yaml:1:" in str(refused.value)
    assert "line 9" in str(refused.value)


def test_an_empty_original_is_refused() -> None:
    with pytest.raises(PackageError, match=r"old\.yaml holds no resources; give /dev/null as ORIGINAL"):
        merge("", config_map("a"), {"a.yaml": config_map("a")})


# ---- laws ------------------------------------------------------------------------------------------------------------


def test_generated_names_match_in_their_order() -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: run-\nspec:\n  parallelism: {}\n"
    done = merge(
        stream(job.format(1), job.format(2)),
        stream(job.format(1), job.format(3)),
        {"j.yaml": stream(job.format(1), job.format(2))},
    )
    assert done.files == {"j.yaml": stream(job.format(1), job.format(3))}


# ---- comments of rendered charts -------------------------------------------------------------------------------------


def render(template: str, document: str) -> str:
    """A document as helm prints it."""
    return f"---\n# Source: shop/templates/{template}\n{document}"


def test_a_template_that_moved_is_no_conflict() -> None:
    before, after = render("a.yaml", config_map("a", x="1")), render("b/a.yaml", config_map("a", x="2"))
    as_printed = merge(before, after, {"a.yaml": before})
    assert as_printed.files == {"a.yaml": after}
    without = merge(before, after, {"a.yaml": config_map("a", x="1")})
    assert without.files == {"a.yaml": config_map("a", x="2")}
    others = merge(before, after, {"a.yaml": "# ours\n" + config_map("a", x="1")})
    assert others.files == {"a.yaml": "# ours\n" + config_map("a", x="2")}
    assert as_printed.warnings == without.warnings == others.warnings == []


def test_a_template_that_moved_without_a_change_changes_no_file_without_the_comment() -> None:
    before, after = render("a.yaml", config_map("a", x="1")), render("b/a.yaml", config_map("a", x="1"))
    assert merge(before, after, {"a.yaml": config_map("a", x="1")}).changed == []


def test_documents_of_comments_alone_are_skipped() -> None:
    empty = "---\n# Source: shop/templates/off.yaml\n"
    before, after = empty + render("a.yaml", config_map("a")), render("a.yaml", config_map("a", x="1")) + empty
    assert merge(before, after, {"a.yaml": config_map("a")}).files == {"a.yaml": config_map("a", x="1")}
