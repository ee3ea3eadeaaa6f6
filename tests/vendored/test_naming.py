"""Where new resources belong (rule R8)."""

from __future__ import annotations

import pytest

from vendored.versions import config_map, merged, service, stream


def deployment(name: str, app: str = "", component: str = "") -> str:
    labels = {"app.kubernetes.io/name": app, "app.kubernetes.io/component": component}
    lines = "".join(f"    {key}: {value}\n" for key, value in labels.items() if value)
    head = f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\n"
    return head + (f"  labels:\n{lines}" if lines else "")


def place_of(new: str, local: dict[str, str], *, after: str | None = None, source: str = "") -> str:
    """The file that a new resource is put in; upstream has it at the end, or behind the document `after`."""
    held = [document for text in local.values() for document in text.split("---\n")]
    at = len(held) if after is None else held.index(after) + 1
    theirs = [*held[:at], (f"# Source: {source}\n" if source else "") + new, *held[at:]]
    done = merged(stream(*held), stream(*theirs), local)
    (changed,) = done.changed
    return changed


WEB, API = deployment("web"), deployment("api")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("deployment-{}.yaml",), "deployment-worker.yaml"),
        (("{}/deployment.yaml",), "worker/deployment.yaml"),
        (("{}-deploy.yaml",), "worker-deploy.yaml"),
        (("apps/{}/Deployment.yml",), "apps/worker/Deployment.yml"),
        (("{}.yaml",), "worker.yaml"),
        (("deployments.yaml",), "deployments.yaml"),
        (("all.yaml",), "all.yaml"),
        (("{0}/{0}-deployment.yaml",), "worker/worker-deployment.yaml"),
    ],
)
def test_a_kind_has_its_convention(files: tuple[str], expected: str) -> None:
    (pattern,) = files
    local: dict[str, list[str]] = {}
    for name, text in (("web", WEB), ("api", API)):
        local.setdefault(pattern.format(name), []).append(text)
    assert place_of(deployment("worker"), {path: stream(*texts) for path, texts in local.items()}) == expected


def test_the_convention_of_most_counts() -> None:
    local = {"deployment-web.yaml": WEB, "deployment-api.yaml": API, "special/db.yaml": deployment("db")}
    assert place_of(deployment("worker"), local) == "deployment-worker.yaml"


def test_a_new_kind_follows_the_convention_of_most_kinds() -> None:
    local = {
        "web/deployment.yaml": WEB,
        "web/service.yaml": service("web"),
        "crds.yaml": stream(*map(config_map, "abc")),
    }
    ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: web\n"
    assert place_of(ingress, local) == "web/ingress.yaml"


def test_a_new_kind_is_put_beside_its_neighbour_where_file_names_say_nothing() -> None:
    local = {"first.yaml": stream(WEB, config_map("b")), "second.yaml": stream(API, config_map("c"))}
    assert place_of(service("x"), local, after=WEB) == "first.yaml"
    assert place_of(service("x"), local, after=API) == "second.yaml"


def test_files_are_named_by_the_app_of_a_resource() -> None:
    local = {
        "web.yaml": stream(deployment("web-server", "web"), deployment("web-cache", "web")),
        "api.yaml": deployment("api-server", "api"),
    }
    assert place_of(deployment("metrics", "api"), local) == "api.yaml"
    assert place_of(deployment("queue-worker", "queue"), local) == "queue.yaml"


def test_files_are_named_by_the_component_of_a_resource() -> None:
    local = {
        "server.yaml": deployment("shop-1", "shop", "server"),
        "cache.yaml": deployment("shop-2", "shop", "cache"),
    }
    assert place_of(deployment("shop-3", "shop", "queue"), local) == "queue.yaml"


def test_files_are_named_by_the_resource_that_a_name_begins_with() -> None:
    local = {"web.yaml": stream(WEB, config_map("web-config")), "api.yaml": stream(API, config_map("api-config"))}
    assert place_of(config_map("web-routes"), local) == "web.yaml"


def test_files_of_a_rendered_chart_keep_its_paths() -> None:
    local = {
        "templates/one.yaml": "# Source: shop/templates/one.yaml\n" + WEB,
        "templates/two/a.yaml": "# Source: shop/templates/two/a.yaml\n" + API,
    }
    assert place_of(service("x"), local, source="shop/templates/net/svc.yaml") == "templates/net/svc.yaml"


def test_namespaces_are_folders() -> None:
    local = {"one/a.yaml": config_map("a", "one"), "two/b.yaml": config_map("b", "two")}
    assert place_of(config_map("c", "three"), local) == "three/c.yaml"


def test_own_files_of_local_are_no_convention() -> None:
    local = {"ours/web.yaml": WEB}
    assert merged(service("x"), stream(service("x"), API), {**local, "x.yaml": service("x")}).changed == ["api.yaml"]


def test_without_a_convention_kind_and_name_are_the_file() -> None:
    assert merged(None, stream(WEB, service("web")), {}).changed == ["deployment-web.yaml", "service-web.yaml"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("system:viewer", "configmap-system-viewer.yaml"),
        ("..", "configmap-unnamed.yaml"),
        ("a/../../b", "configmap-a-..-..-b.yaml"),
    ],
)
def test_names_do_not_lead_out_of_the_directory(name: str, expected: str) -> None:
    assert merged(None, config_map(f'"{name}"'), {}).changed == [expected]


def test_a_file_that_holds_something_else_is_not_overwritten() -> None:
    local = {"a.yaml": config_map("a"), "b.yaml": "note: ours\n"}
    done = merged(config_map("a"), stream(config_map("a"), config_map("b")), local)
    assert done.changed == ["configmap-b.yaml"]
    assert done.files["b.yaml"] == "note: ours\n"


def test_new_files_begin_as_those_of_local_do() -> None:
    local = {"a.yaml": "---\n" + config_map("a")}
    done = merged(config_map("a"), stream(config_map("a"), config_map("b")), local)
    assert done.files["b.yaml"] == "---\n" + config_map("b")
