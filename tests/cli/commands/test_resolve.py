"""`resolve` and `mergetool` as people and git call them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from cli.commands.merges import commit, deployment, git, repository
from e2e.hosts import SECONDS, Run, wait_until
from e2e.in_process import krm_merge
from krm_merge.merge.decisions.policy import Nature
from krm_merge.packages import state_file
from packages.repositories import KPTFILE, Repository, kptfile
from report.conflicts import SECRETS
from resolve.packages import OWN_VALUE, PER_NATURE, all_natures, config_maps, five_kinds

COMMAND = [sys.executable, "-m", "krm_merge"]
KEYS = {
    "upstream": "u",
    "local": "l",
    "original": "o",
    "upstream-then-local": "b",
    "local-then-upstream": "B",
    "value": f"e {OWN_VALUE}",
    "recognise": "r",
}
BY_DOCUMENT = ["--function-identity", "document"]


def run(place: Path, *arguments: str, stdin: str = "", code: int = 0) -> Run:
    done = krm_merge(*arguments, cwd=place, stdin=stdin)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def put(place: Path, files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(data)


def contents(place: Path) -> dict[str, bytes]:
    return {str(file.relative_to(place)): file.read_bytes() for file in sorted(place.rglob("*")) if file.is_file()}


@pytest.fixture
def natures(tmp_path: Path) -> Path:
    for name, side in zip("oul", all_natures(), strict=True):
        put(tmp_path / name, side)
    return tmp_path


@pytest.fixture
def three(tmp_path: Path) -> Path:
    for name, side in zip("oul", config_maps(3), strict=True):
        put(tmp_path / name, side)
    return tmp_path


class Served:
    """A page without a browser."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        self.place, self.token = address.netloc, address.fragment
        assert address.scheme == "http"
        assert self.place.startswith("127.0.0.1:")

    def ask(self, path: str, body: object = None) -> Any:
        connection = HTTPConnection(self.place, timeout=SECONDS)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, data, headers)
        with closing(connection), connection.getresponse() as answer:
            return json.loads(answer.read())

    def choose(self, record: Mapping[str, Any], choice: str, **more: object) -> Any:
        revision = self.ask("/api/report")["revision"]
        return self.ask("/api/choose", {"revision": revision, "ids": [record["id"]], "choice": choice, **more})

    def open(self) -> list[dict[str, Any]]:
        return [record for record in self.ask("/api/report")["records"] if record["status"] == "open"]

    def end(self) -> tuple[int, str]:
        """The exit code, and what was said."""
        out, err = self.process.communicate(timeout=SECONDS)
        assert out == ""
        return self.process.returncode, err


def with_every_signal() -> None:
    """As a terminal starts programs: the tests may run where SIGHUP or SIGINT is ignored (`nohup`, `&`)."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def page(place: Path, *arguments: str, command: str = "resolve") -> Iterator[Served]:
    process = subprocess.Popen(
        [*COMMAND, command, "--no-browser", *arguments],
        cwd=place,
        preexec_fn=with_every_signal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Served(process)
    finally:
        process.kill()
        process.communicate()


# ---- the page ------------------------------------------------------------------------------------------------------


def test_a_package_is_settled_on_the_page_in_the_terminal_and_by_a_file_with_equal_bytes(natures: Path) -> None:
    for name in ("by-page", "by-terminal", "by-file"):
        put(natures / name, contents(natures / "l"))
    with page(natures, "o", "u", "by-page", *BY_DOCUMENT) as served:
        while left := served.open():
            choice = PER_NATURE[left[0]["nature"]]
            served.choose(left[0], choice, **({"value": OWN_VALUE} if choice == "value" else {}))
        assert served.ask("/api/save", {})["saved"]
        code, output = served.end()
        assert (code, output.startswith("saved by-page: files:")) == (0, True)
    answers = "".join(f"{KEYS[PER_NATURE[nature]]}\n" for nature in natures_in_order(natures))
    run(natures, "resolve", "o", "u", "by-terminal", "--terminal", *BY_DOCUMENT, stdin=answers)
    put(natures / "by-file", {"merge-policy.yaml": (natures / "by-page" / "merge-policy.yaml").read_bytes()})
    run(natures, "merge", "o", "u", "by-file", "--in-place", "--on-conflict", "fail", *BY_DOCUMENT)
    assert contents(natures / "by-page") == contents(natures / "by-terminal") == contents(natures / "by-file")
    # Another merge asks nothing, and changes nothing (law D).
    before = contents(natures / "by-file")
    run(natures, "merge", "o", "u", "by-file", "--in-place", "--on-conflict", "local", *BY_DOCUMENT)
    assert contents(natures / "by-file") == before


def natures_in_order(place: Path) -> list[Nature]:
    """The natures of the conflicts in the order in which they are asked about, which choices may change."""
    natures = []
    with page(place, "o", "u", "l", *BY_DOCUMENT) as served:
        while left := served.open():
            natures.append(left[0]["nature"])
            choice = PER_NATURE[left[0]["nature"]]
            served.choose(left[0], choice, **({"value": OWN_VALUE} if choice == "value" else {}))
    state_file(place / "l", "choices").remove()
    return natures


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_a_killed_server_loses_no_choice(three: Path, number: signal.Signals) -> None:
    before = contents(three / "l")
    with page(three, "o", "u", "l") as served:
        first, second, _ = served.open()
        served.choose(first, "local")
        served.choose(second, "value", value="mine")
        served.process.send_signal(number)
        assert served.end()[0] in (-number, 130)
    assert contents(three / "l") == before
    with page(three, "o", "u", "l") as served:
        (third,) = served.open()
        served.choose(third, "upstream")
        served.ask("/api/save", {})
        assert served.end()[0] == 0
    assert b"{a: mine}" in (three / "l" / "1.yaml").read_bytes()
    assert not list(three.glob(".*"))


def test_what_somebody_else_changed_meanwhile_is_kept(three: Path) -> None:
    with page(three, "o", "u", "l") as served:
        for record in served.open():
            served.choose(record, "upstream")
        (three / "l" / "0.yaml").write_text("# theirs\n")
        refused = served.ask("/api/save", {})
        assert "0.yaml was changed meanwhile; nothing was written. It was read again: 2 choices fit" in refused["error"]
        assert "; not those on ConfigMap c0 data.a. Save again" in refused["error"]
        served.ask("/api/close", {})
        assert served.end()[0] == 1
    assert (three / "l" / "0.yaml").read_text() == "# theirs\n"
    assert b"{a: l}" in (three / "l" / "1.yaml").read_bytes()


def test_saving_goes_on_with_a_file_that_changed_meanwhile(three: Path) -> None:
    with page(three, "o", "u", "l") as served:
        for record in served.open():
            served.choose(record, "upstream")
        text = (three / "l" / "0.yaml").read_text()
        (three / "l" / "0.yaml").write_text(text + "# theirs\n")
        assert "It was read again: 3 choices fit. Save again" in served.ask("/api/save", {})["error"]
        (three / "l" / "1.yaml").write_text(text.replace("name: c0", "name: c1").replace("a: l", "a: other"))
        assert "2 choices fit; not those on ConfigMap c1 data.a. Save again" in served.ask("/api/save", {})["error"]
        (changed,) = served.open()
        served.choose(changed, "local")
        assert served.ask("/api/save", {})["saved"]
        assert served.end()[0] == 0
    assert (three / "l" / "0.yaml").read_text().endswith("data: {a: u}\n# theirs\n")
    assert "a: other" in (three / "l" / "1.yaml").read_text()


def test_a_second_session_on_one_package_is_refused(three: Path) -> None:
    with page(three, "o", "u", "l"):
        done = run(three, "resolve", "o", "u", "l", "--terminal", code=3)
    assert "another krm-merge is working on it" in done.stderr


def test_the_page_ends_with_the_terminal(three: Path) -> None:
    script = f"{sys.executable} -m krm_merge resolve o u l --no-browser > address & echo $!\n"
    script += "until [ -s address ]; do sleep 0.1; done"
    shell = subprocess.run(["sh", "-c", script], cwd=three, capture_output=True, text=True, check=True, timeout=SECONDS)
    server = Path("/proc", shell.stdout.split()[0])
    wait_until(lambda: not server.exists())


def test_the_browser_is_given_the_address_in_a_file_that_nobody_else_reads(three: Path) -> None:
    program = three / "browser"
    program.write_text('#!/bin/sh\nfile="${1#file://}"\nstat -c %a "$file" > mode\ncp "$file" copy\nmv copy opened\n')
    program.chmod(0o755)
    process = subprocess.Popen(
        [*COMMAND, "resolve", "o", "u", "l"],
        cwd=three,
        env={**os.environ, "BROWSER": str(program)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    address = re.search(r"http://127\.0\.0\.1:\d+/#[\w-]{43}", line)
    assert address is not None
    wait_until((three / "opened").exists)
    process.terminate()
    out, _ = process.communicate(timeout=SECONDS)
    assert (out, process.returncode) == ("", 130)
    assert (three / "mode").read_text() == "600\n"
    assert f'url={address[0]}"' in (three / "opened").read_text()


# ---- the terminal --------------------------------------------------------------------------------------------------


def test_the_terminal_asks_one_by_one(three: Path) -> None:
    done = run(three, "resolve", "o", "u", "l", "--terminal", stdin="u\nl\ne own value\n")
    assert done.stdout.startswith(
        "\n0.yaml ConfigMap c0  (3 open, 3 like this)\n"
        "data.a: Upstream and you changed the same value. (V4)\n"
        "  original  o\n"
        "  upstream  u\n"
        "  yours     l\n"
        "Settle this [u,l,o,e,a,!,s,z,q,?]? u\n"
    )
    assert done.stderr == "saved l: files: 2 changed, 1 added, 0 deleted; 3 choices are in its MergePolicy\n"
    values = [(three / "l" / f"{n}.yaml").read_text().splitlines()[-1] for n in range(3)]
    assert values == ["data: {a: u}", "data: {a: l}", "data: {a: own value}"]


@pytest.mark.parametrize(("answers", "left"), [("", 3), ("u\n", 2), ("u\ns\nl\n", 1), ("l\nz\nq\n", 3), ("q\n", 3)])
def test_what_is_left_open_is_not_saved(three: Path, answers: str, left: int) -> None:
    before = contents(three / "l")
    done = run(three, "resolve", "o", "u", "l", "--terminal", stdin=answers, code=1)
    assert f"not saved: {left} still open; nothing was changed" in done.stderr
    assert contents(three / "l") == before


def test_one_answer_for_all_alike_and_one_for_good(three: Path) -> None:
    run(three, "resolve", "o", "u", "l", "--terminal", stdin="!l\nau\n")
    text = (three / "l" / "merge-policy.yaml").read_text()
    assert "onConflict: local" in text
    assert text.count("choice: upstream") == 1
    assert "resource:" not in text


def test_the_terminal_says_what_it_does_not_understand(three: Path) -> None:
    answers = "x\n?\nb\n!\ne [1\ne\n2\nq\n"
    done = run(three, "resolve", "o", "u", "l", "--terminal", stdin=answers, code=1)
    choices = "choices are u (Take upstream), l (Keep yours), o (Take original), e (Edit); ? lists all answers\n"
    assert f"? x\n'x' is not an answer; {choices}" in done.stdout
    assert f"? b\ntaking both is not possible for this value; {choices}" in done.stdout
    assert f"? !\n'!' needs a choice after it; {choices}" in done.stdout
    assert done.stdout.count("u - Take upstream") == 1
    assert "b - " not in done.stdout
    assert "put it in quotes to make it a string" in done.stdout
    assert "1.yaml ConfigMap c1  (2 open, 3 like this)" in done.stdout


def test_values_of_secrets_are_neither_shown_nor_kept(tmp_path: Path) -> None:
    values = ("hush-original", "hush-upstream", "hush-local")
    for name, text in SECRETS.items():
        place = tmp_path / name.replace(" ", "-")
        for side, value in zip("oul", values, strict=True):
            put(place / side, {"s.yaml": text.replace("VALUE", value).encode()})
        done = run(place, "resolve", "o", "u", "l", "--terminal", stdin="s\n", code=1)
        assert "hidden value" in done.stdout
        done = run(place, "resolve", "o", "u", "l", "--terminal", stdin="u\nu\n")
        policy = place / "l" / "merge-policy.yaml"
        texts = [done.stdout, done.stderr, policy.read_text() if policy.exists() else ""]
        assert not any(value in text for text in texts for value in values)
        assert "hush-upstream" in (place / "l" / "s.yaml").read_text()


@pytest.fixture
def many(tmp_path: Path) -> Path:
    for name, side in zip("oul", five_kinds(50), strict=True):
        put(tmp_path / name, side)
    return tmp_path


def test_many_conflicts_are_settled_together_in_the_terminal(many: Path) -> None:
    # A group that the list shows; the nearest one, twice; the deletions; what a search finds.
    answers = ["g", "g2", "u", "g1", "l", "g1", "o", "u", "/kind:ConfigMap level", "l"]
    done = run(many, "resolve", "o", "u", "l", "--terminal", stdin="\n".join(answers) + "\n")
    assert (
        "Settle this [u,l,o,e,a,!,g,/,s,z,q,?]? g\ng1 - 4 with the same values\ng2 - 10 of spec.replicas\n"
        in done.stdout
    )
    first = "apps/team-0/web-0.yaml Deployment web0 spec.replicas: yours 5, upstream 2"
    assert f"? g2\n\n10 of spec.replicas  (50 open)\n  {first}\n" in done.stdout
    assert "\n10 match 'kind:ConfigMap level'  (10 open)\n" in done.stdout
    assert "\n10 resources that upstream deleted and you changed  (20 open)\n" in done.stdout
    assert "Settle all 10 [u,l,1,s,z,q,?]? u\n" in done.stdout
    assert "saved l:" in done.stderr
    text = (many / "l" / "apps" / "team-0" / "web-7.yaml").read_text()
    assert all(value in text for value in ("replicas: 2\n", "image: app7:fix\n", "memory: 64Mi"))
    assert not (many / "l" / "network").exists()
    assert "level: debug" in (many / "l" / "settings" / "web-7.yaml").read_text()


def test_a_group_is_undone_left_and_asked_about_one_by_one(many: Path) -> None:
    answers = ["/network", "x", "?", "1", "l", "z", "u", "/network", "s", "/nowhere", "g9", "q"]
    done = run(many, "resolve", "o", "u", "l", "--terminal", stdin="\n".join(answers) + "\n", code=1)
    assert "? x\n'x' is not possible for all 10; ? lists what is\n" in done.stdout
    assert done.stdout.count("u - Delete all 10\n") == 1
    assert "network/web-0.yaml Service web0  (50 open" in done.stdout
    assert "\n9 match 'network'  (49 open)\n" in done.stdout
    assert "no open conflict matches 'nowhere'\n" in done.stdout
    assert "not saved: 49 still open" in done.stderr


# ---- what is given -------------------------------------------------------------------------------------------------


def fetch(place: Path) -> Path:
    """A package at v1 of an upstream that has v2, too, with replicas of its own, committed."""
    upstream = Repository.at(place / "upstream")
    first = upstream.version("v1", {"Kptfile": KPTFILE, "deployment.yaml": deployment("web", 1)})
    upstream.version("v2", {"deployment.yaml": deployment("web", 2)})
    work = Repository.at(place / "work")
    work.commit({"web/Kptfile": kptfile(upstream.path, "v1", first), "web/deployment.yaml": deployment("web", 5)})
    return work.path / "web"


def test_a_package_follows_its_upstream(tmp_path: Path) -> None:
    package = fetch(tmp_path)
    run(tmp_path, "resolve", "work/web@v2", "--terminal", stdin="l\n")
    assert "replicas: 5" in (package / "deployment.yaml").read_text()
    assert "ref: v2" in (package / "Kptfile").read_text()
    assert "choice: local" in (package / "merge-policy.yaml").read_text()
    git(tmp_path / "work", "add", ".")
    git(tmp_path / "work", "commit", "--quiet", "--message", "v2")
    done = run(tmp_path, "update", "work/web@v2", "--on-conflict", "fail")
    assert "no file changes" in done.stdout


def test_a_package_with_changes_that_are_not_committed_is_refused(tmp_path: Path) -> None:
    package = fetch(tmp_path)
    (package / "new.txt").write_text("")
    done = run(tmp_path, "resolve", "work/web@v2", "--terminal", code=1)
    assert "uncommitted changes: web/new.txt; commit them first, or use --allow-dirty" in done.stderr
    run(tmp_path, "resolve", "work/web@v2", "--terminal", "--allow-dirty", stdin="l\n")


def test_three_files(tmp_path: Path) -> None:
    for name, side in zip("oul", config_maps(1), strict=True):
        (tmp_path / f"{name}.yaml").write_bytes(side["0.yaml"])
    run(tmp_path, "resolve", "o.yaml", "u.yaml", "l.yaml", "--terminal", stdin="u\n")
    assert (tmp_path / "l.yaml").read_bytes() == (tmp_path / "u.yaml").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["l.yaml", "o.yaml", "u.yaml"]


@pytest.mark.parametrize("place", ["--terminal", "--no-browser"])
def test_without_conflicts_there_is_nothing_to_ask(tmp_path: Path, place: str) -> None:
    (side, other, _) = config_maps(1)
    for name, files in (("o", side), ("u", other), ("l", side)):
        put(tmp_path / name, files)
    done = run(tmp_path, "resolve", "o", "u", "l", place)
    assert done.stderr.splitlines()[0] == "no conflicts to settle"
    assert contents(tmp_path / "l") == contents(tmp_path / "u")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["o", "u"], 3, "u has no Vendorfile with the version of upstream that it comes from"),
        (["o", "u", "l", "x"], 2, "give one package, or three versions"),
        (["-", "u", "l"], 2, "stdin is for answers"),
        (["o", "u", "missing"], 3, "missing: there is no such file or directory"),
        (["missing"], 3, "missing: there is no such directory"),
        (["l"], 3, "has no Kptfile"),
    ],
)
def test_what_cannot_be_resolved(three: Path, arguments: list[str], code: int, message: str) -> None:
    assert message in run(three, "resolve", *arguments, "--terminal", code=code).stderr


def test_a_version_beside_a_package_is_given_as_one_argument(tmp_path: Path) -> None:
    put(tmp_path, {"web/Kptfile": b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"})
    done = run(tmp_path, "resolve", "web", "v2", code=2)
    assert done.stderr.endswith("there is no file or directory v2; a version is given as PKG@REF: web@v2\n")


def test_kept_choices_that_cannot_be_read_are_named(three: Path) -> None:
    state_file(three / "l", "choices").append(b'{"resolutions": 1}\n')
    done = run(three, "resolve", "o", "u", "l", "--terminal", code=3)
    assert "choice 1 cannot be read" in done.stderr
    assert "remove the file to start over" in done.stderr


# ---- git -----------------------------------------------------------------------------------------------------------


def test_a_file_that_both_added_has_no_base(tmp_path: Path) -> None:
    for name, replicas in (("local", 2), ("remote", 5)):
        (tmp_path / f"{name}.yaml").write_text(deployment("web", replicas))
    (tmp_path / "base.yaml").write_text("")
    (tmp_path / "merged.yaml").write_text("<<<<<<< markers\n")
    files = ["base.yaml", "local.yaml", "remote.yaml", "merged.yaml"]
    done = run(tmp_path, "mergetool", "--terminal", *files, stdin="u\n")
    assert (tmp_path / "merged.yaml").read_text() == deployment("web", 5)
    assert "Their side and our side added this with different values. (V4)" in done.stdout
    assert "  theirs  5\n  ours    2\n" in done.stdout


def test_the_mergetool_has_a_page_too(tmp_path: Path) -> None:
    for name, replicas in (("base", 1), ("local", 2), ("remote", 5), ("merged", 0)):
        (tmp_path / f"{name}.yaml").write_text(deployment("web", replicas))
    files = ["base.yaml", "local.yaml", "remote.yaml", "merged.yaml"]
    with page(tmp_path, *files, command="mergetool") as served:
        assert served.ask("/api/view")["labels"] == {"original": "Base", "upstream": "Theirs", "local": "Ours"}
        (record,) = served.open()
        served.choose(record, "value", value=4)
        served.ask("/api/save", {})
        assert served.end()[0] == 0
    assert (tmp_path / "merged.yaml").read_text() == deployment("web", 4)


def test_choices_on_secrets_are_remembered_without_values(tmp_path: Path) -> None:
    work = repository(tmp_path, "work")
    text = SECRETS["a Secret"]
    commit(work, "base", s=text.replace("VALUE", "hush-base"))
    git(work, "checkout", "--quiet", "-b", "topic")
    commit(work, "theirs", s=text.replace("VALUE", "hush-theirs"))
    git(work, "checkout", "--quiet", "main")
    commit(work, "ours", s=text.replace("VALUE", "hush-ours"))
    git(work, "merge", "topic", code=1)
    output = git(work, "mergetool", "--tool", "krm", "--no-prompt", stdin="u\n")
    choices = (work / ".git" / "krm-merge" / "choices.yaml").read_text()
    assert "hush" not in output + choices
    assert "name: s" in choices
    assert "hush-theirs" in (work / "s.yaml").read_text()
