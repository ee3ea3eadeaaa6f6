"""Where new resources belong (rule R7)."""

from __future__ import annotations

import json

import pytest
import yaml

from krm_merge.packages import PackageError
from vendored.versions import config_map, merge, service, stream


def deployment(name: str) -> str:
    return f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\n"


def place_of(new: str, local: dict[str, str], *, after: str | None = None) -> str:
    """The file that a new resource is put in; upstream has it at the end, or behind the document `after`."""
    documents = [document for text in local.values() for document in text.split("---\n")]
    at = len(documents) if after is None else documents.index(after) + 1
    done = merge(stream(*documents), stream(*documents[:at], new, *documents[at:]), local)
    (changed,) = done.changed
    return changed


WEB, API = deployment("web"), deployment("api")


def test_a_new_resource_is_put_into_the_file_of_its_kind() -> None:
    local = {"deployments.yaml": stream(WEB, API), "services.yaml": stream(service("web"), service("api"))}
    assert place_of(deployment("worker"), local) == "deployments.yaml"
    assert place_of(service("worker"), local) == "services.yaml"


def test_of_its_kind_the_nearest_upstream_counts() -> None:
    local = {"first.yaml": stream(WEB, config_map("b")), "second.yaml": stream(API, config_map("c"))}
    assert place_of(deployment("worker"), local, after=WEB) == "first.yaml"
    assert place_of(deployment("worker"), local, after=API) == "second.yaml"
    assert place_of(deployment("worker"), local) == "second.yaml"


def test_of_two_as_near_the_one_before_it_counts() -> None:
    local = {"z.yaml": stream(WEB, config_map("b")), "a.yaml": stream(API, config_map("c"))}
    new = stream(WEB, deployment("worker"), API, config_map("b"), config_map("c"))
    assert merge(stream(WEB, API, config_map("b"), config_map("c")), new, local).changed == ["z.yaml"]


def test_a_new_kind_is_put_beside_its_neighbour() -> None:
    local = {"first.yaml": stream(WEB, config_map("b")), "second.yaml": stream(API, config_map("c"))}
    assert place_of(service("x"), local, after=WEB) == "first.yaml"
    assert place_of(service("x"), local, after=API) == "second.yaml"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("deployment-web.yaml", "deployment-api.yaml"), "deployment-worker.yaml"),
        (("apps/web/Deployment.yml", "apps/api/Deployment.yml"), "apps/api/deployment-worker.yaml"),
        (("apps/web.json", "apps/api.json"), "apps/deployment-worker.yaml"),
    ],
)
def test_where_each_resource_has_a_file_so_does_a_new_one(files: tuple[str, str], expected: str) -> None:
    def written(path: str, text: str) -> str:
        return json.dumps(yaml.safe_load(text)) if path.endswith(".json") else text

    local = {path: written(path, text) for path, text in zip(files, (WEB, API), strict=True)}
    done = merge(stream(WEB, API), stream(WEB, API, deployment("worker")), local)
    assert done.changed == [expected]


def test_new_resources_of_one_kind_and_name_are_in_one_file() -> None:
    new = stream(service("x"), config_map("a", "one"), config_map("a", "two"))
    done = merge(service("x"), new, {"x.yaml": service("x")})
    assert done.changed == ["configmap-a.yaml"]
    assert done.files["configmap-a.yaml"] == stream(config_map("a", "one"), config_map("a", "two"))


def test_own_files_of_local_show_no_place() -> None:
    local = {"ours.yaml": stream(WEB, deployment("own")), "all.yaml": stream(service("x"), service("y"))}
    upstream = stream(service("x"), service("y"))
    assert merge(upstream, stream(upstream, API), local).changed == ["all.yaml"]


def test_without_a_neighbour_kind_and_name_are_the_file() -> None:
    assert merge(None, stream(WEB, service("web")), {}).changed == ["deployment-web.yaml", "service-web.yaml"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("system:viewer", "configmap-system-viewer.yaml"),
        ("..", "configmap-unnamed.yaml"),
        ("a/../../b", "configmap-a-..-..-b.yaml"),
    ],
)
def test_names_do_not_lead_out_of_the_directory(name: str, expected: str) -> None:
    assert merge(None, config_map(f'"{name}"'), {}).changed == [expected]


def test_a_file_that_holds_something_else_is_not_overwritten() -> None:
    local = {"a.yaml": config_map("a"), "configmap-b.yaml": "note: ours\n"}
    with pytest.raises(PackageError) as caught:
        merge(config_map("a"), stream(config_map("a"), config_map("b")), local)
    assert str(caught.value) == (
        "configmap-b.yaml: upstream's new ConfigMap b belongs to this file, which has other contents; rename the file"
    )


def test_new_files_begin_as_those_of_local_do() -> None:
    local = {"a.yaml": "---\n" + config_map("a")}
    done = merge(config_map("a"), stream(config_map("a"), config_map("b")), local)
    assert done.files["configmap-b.yaml"] == "---\n" + config_map("b")
