"""Secrets by another name (M6): none is printed, and somebody can still choose, and see what is hidden."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.in_process import krm_merge
from fleet.world import World
from krm_merge.functions import process
from krm_merge.merge.decisions.policy import Choice
from krm_merge.packages.files.tree import Changed
from krm_merge.report import FORMS
from packages.repositories import Repository, kptfile
from report.secret_places import FILES, HARMLESS, PLACES, SIDES, harmless_package, leaks, package
from resolve.packages import session_of, task_of
from resolve.serving import serve

COUNT = len(PLACES) + len(FILES)
ON_BOTH = {side: package(side) for side in SIDES}
DELETED = ON_BOTH | {"upstream": package("upstream", without_resources=True)}
MADE = {"changed on both sides": ON_BOTH, "deleted by upstream": DELETED}
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"
NOT_RESOURCES = ("merge-policy.yaml", "keep.txt", *FILES)


def write_bytes(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def follow(place: Path, *, without: tuple[str, ...] = ()) -> Path:
    """A package that was fetched at v1 of an upstream, changed, and committed; upstream has v2."""
    upstream = Repository.at(place / "upstream")
    tags = {}
    for tag, side in (("v1", "original"), ("v2", "upstream")):
        files = {f"web/{name}": data for name, data in ON_BOTH[side].items() if name not in without}
        tags[tag] = upstream.version(tag, {**files, "web/Kptfile": KPTFILE})
    text = kptfile(f"file://{upstream.path}", "v1", tags["v1"], "/web").replace("name: pkg", "name: web")
    mine = Repository.at(place / "mine")
    files = {f"web/{name}": data for name, data in ON_BOTH["local"].items() if name not in without}
    mine.commit({**files, "web/Kptfile": text})
    return mine.path / "web"


def item(name: str, data: bytes) -> dict[str, Any]:
    """A resource of a file as an item of a list."""
    value: dict[str, Any] = yaml.safe_load(data)
    value["metadata"].setdefault("annotations", {})["internal.config.kubernetes.io/path"] = name
    return value


def test_there_are_enough_places() -> None:
    assert len(PLACES) >= 30
    assert leaks(str(package("local"))) == [*PLACES, *FILES]


@pytest.mark.parametrize("nature", MADE)
def test_no_report_has_them(tmp_path: Path, nature: str) -> None:
    for side in SIDES:
        write_bytes(tmp_path / side, MADE[nature][side])
    reports = [f"--report=r{suffix}" for suffix in FORMS]
    done = krm_merge("merge", *SIDES, "--on-conflict=upstream", "-o", "out", *reports, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    texts = {suffix: (tmp_path / f"r{suffix}").read_text() for suffix in FORMS}
    texts |= {"terminal": done.stdout + done.stderr}
    done = krm_merge("merge", *SIDES, "--on-conflict=upstream", "-o", "again", "--format=json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    texts |= {"terminal json": done.stdout + done.stderr}
    assert {name: leaks(text) for name, text in texts.items() if leaks(text)} == {}
    records = json.loads(texts[".json"])["records"]
    assert len([record for record in records if record["status"] != "automatic"]) == COUNT
    assert all(record.get("redacted") for record in records)


def test_no_difference_of_two_versions_has_them(tmp_path: Path) -> None:
    for side in SIDES:
        write_bytes(tmp_path / side, ON_BOTH[side])
    names = [f"r{suffix}" for suffix in FORMS]
    done = krm_merge("diff", "original", "local", *(f"--report={name}" for name in names), cwd=tmp_path)
    texts = [done.stdout, done.stderr, *((tmp_path / name).read_text() for name in names)]
    assert leaks("".join(texts)) == []
    assert done.stdout.count("(a secret value)") == COUNT


@pytest.mark.parametrize("changed", ["upstream", "local"])
def test_no_report_has_them_where_only_one_side_changed_them(tmp_path: Path, changed: str) -> None:
    for side in SIDES:
        write_bytes(tmp_path / side, ON_BOTH[side if side == changed else "original"])
    reports = [f"--report=r{suffix}" for suffix in FORMS]
    done = krm_merge("merge", *SIDES, "-o", "out", *reports, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    texts = [done.stdout, done.stderr, *((tmp_path / f"r{suffix}").read_text() for suffix in FORMS)]
    assert leaks("".join(texts)) == []


def test_no_session_on_the_terminal_has_them(tmp_path: Path) -> None:
    place = follow(tmp_path)
    done = krm_merge("resolve", "web@v2", "--terminal", cwd=place.parent, stdin="s\n" * COUNT + "q\n")
    assert leaks(done.stdout + done.stderr) == []
    assert all(f"n{number:03}" in done.stdout for number in range(len(PLACES)))


def test_the_password_of_an_address_is_left_out(tmp_path: Path) -> None:
    for side in SIDES:
        text = f"apiVersion: v1\nkind: A\nmetadata: {{name: a}}\nspec:\n  url: postgres://me:hush{side}@{side}.db/x\n"
        write_bytes(tmp_path / side, {"a.yaml": text.encode()})
    done = krm_merge("merge", *SIDES, "--on-conflict=upstream", "-o", "out", cwd=tmp_path)
    assert "upstream.db/x" in done.stderr
    assert "hush" not in done.stdout + done.stderr


def test_no_comment_has_them(tmp_path: Path) -> None:
    sides = {}
    for side in SIDES:
        text = f"spec:\n  # password: hush{side}\n  a: {side} # DB_PASSWORD=hush{side}\n  # Mine: {side}\n"
        sides[side] = {"a.yaml": f"apiVersion: v1\nkind: A\nmetadata: {{name: a}}\n{text}".encode()}
        write_bytes(tmp_path / side, sides[side])
    reports = [f"--report=r{suffix}" for suffix in FORMS]
    done = krm_merge("merge", *SIDES, "--on-conflict=upstream", "-o", "out", *reports, cwd=tmp_path)
    texts = [done.stdout, done.stderr, *((tmp_path / f"r{suffix}").read_text() for suffix in FORMS)]
    with serve(task_of(*sides.values())) as client:
        records = client.report()["records"]
        context = json.dumps([client.ask(f"/api/context?id={record['id']}").body for record in records])
    assert "Mine: local" in context
    assert "hush" not in "".join([*texts, context])


def test_what_only_looks_like_a_secret_is_shown(tmp_path: Path) -> None:
    assert len(HARMLESS) >= 40
    for side in SIDES:
        write_bytes(tmp_path / side, harmless_package(side))
    # SARIF has places, and no values.
    suffixes = [suffix for suffix in FORMS if suffix != ".sarif"]
    reports = [f"--report=r{suffix}" for suffix in suffixes]
    done = krm_merge("merge", *SIDES, "--on-conflict=upstream", "-o", "out", *reports, cwd=tmp_path)
    texts = {suffix: (tmp_path / f"r{suffix}").read_text() for suffix in suffixes} | {"terminal": done.stderr}
    texts |= {"diff": krm_merge("diff", "original", "local", cwd=tmp_path).stdout}
    hidden = {
        name: [place for place in HARMLESS if place not in leaks(text, [*HARMLESS])] for name, text in texts.items()
    }
    # A difference shows a text as a whole.
    assert hidden.pop("diff") == ["beside a password in a text", "beside auths"]
    # A cell of a table is cut.
    assert hidden.pop(".md") == ["path to the name of a Secret"]
    assert not any(hidden.values()), hidden


@pytest.mark.kpt
def test_no_comparison_with_kpt_has_them(tmp_path: Path) -> None:
    place = follow(tmp_path, without=("broken.yaml", "broken.json"))
    done = krm_merge("compare", "web@v2", "--format=json", cwd=place.parent)
    assert done.returncode == 0, done.stderr
    assert leaks(done.stdout + done.stderr) == []


@pytest.mark.parametrize("on_conflict", ["upstream", "fail"])
def test_no_result_of_the_function_has_them(on_conflict: str) -> None:
    names = [name for name in ON_BOTH["local"] if name not in NOT_RESOURCES]
    versions = {side: [item(name, ON_BOTH[side][name]) for name in names] for side in SIDES}
    config: dict[str, Any] = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePackage", "onConflict": on_conflict}
    config |= {"original": versions["original"], "upstream": versions["upstream"]}
    resource_list = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": versions["local"],
        "functionConfig": config,
    }
    outcome = process(yaml.safe_dump(resource_list).encode())
    results = yaml.safe_load(outcome.output)["results"]
    assert leaks(str(results)) == []
    assert sum("upstream" in result.get("tags", {}) for result in results) == len(PLACES)


def test_no_ledger_of_a_campaign_has_them(tmp_path: Path) -> None:
    place = follow(tmp_path)
    world = World(tmp_path)
    upstream = ("--upstream", f"file://{tmp_path}/upstream/web", "--to", "v2")
    outputs = [world.fleet("init", "campaign", *upstream, "--packages", place.parent), world.fleet("run", "campaign")]
    names = [f"r{suffix}" for suffix in FORMS]
    reports = [f"--report={name}" for name in names]
    outputs += [world.fleet("conflicts", "campaign", *words) for words in (["--format=json"], reports)]
    assert sum(group["count"] for group in json.loads(outputs[2].stdout)["groups"]) == COUNT
    ours = [file for file in (tmp_path / "campaign").rglob("*") if file.is_file() and "cache" not in file.parts]
    files = [file.read_bytes() for file in [*ours, *(tmp_path / name for name in names)]]
    assert any(file.startswith(b"SQLite") for file in files)
    texts = [done.stdout + done.stderr for done in outputs] + [file.decode("latin-1") for file in files]
    assert leaks("".join(texts)) == []


@pytest.mark.parametrize(("nature", "choice"), [*zip(MADE, ("local", "upstream"), strict=True)])
def test_each_can_be_settled_and_seen(nature: str, choice: Choice) -> None:
    sides = MADE[nature]
    session = session_of(*(sides[side] for side in SIDES))
    assert len(session.open) == COUNT
    for record in session.open:
        assert (record.is_redacted, record.choices) == (True, ("upstream", "local"))
        assert not session.contexts(record.id)
        assert len(leaks(str(session.hidden_values(record.id)))) == 1
        session.choose([record.id], choice)
    assert not session.open
    saved = session.save()
    policy = saved.changes["merge-policy.yaml"]
    assert policy is not None
    assert leaks(policy.data.decode()) == []
    merged = Changed(session.task.sides.local, saved.changes)
    for name, data in sides["local"].items():
        if name not in ("merge-policy.yaml", "keep.txt"):
            data_of_side = data if choice == "local" else sides["upstream"].get(name)
            assert (merged[name].data if name in merged else None) == data_of_side
    # M2: what was chosen settles the same merge once more, and it changes nothing.
    again = session_of(sides["original"], sides["upstream"], {name: file.data for name, file in merged.items()})
    assert again.open == []
    assert not again.save().changes


def test_the_page_shows_them_only_where_somebody_asks() -> None:
    with serve(task_of(*(ON_BOTH[side] for side in SIDES))) as client:
        records = client.report()["records"]
        seen = [client.ask(path) for path in ("/api/report", "/api/view")]
        seen += [client.ask(f"/api/context?id={record['id']}") for record in records]
        assert leaks(json.dumps([got.body for got in seen])) == []
        open_records = [record for record in records if record["status"] == "open"]
        assert len(open_records) == COUNT
        for record in open_records:
            assert len(leaks(json.dumps(client.ask("/api/reveal", {"id": record["id"]}).body))) == 1
