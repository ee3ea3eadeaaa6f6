"""Pull requests of bare repositories, with the real git program."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.hosts import SECONDS, git
from forges.origins import Origin
from krm_merge.forges.interface import ForgeError, ForgePullRequest
from krm_merge.forges.local import How, LocalForge

RECORD = """{"pullRequests": [{"base": "0", "pull": {"number": 1, "source_branch": "x", "target_branch": "main",
"title": "t", "body": "", "draft": false, "state": "open"}}]}"""
ALL_HOW: tuple[How, ...] = ("merge", "squash")
OPEN_SOME = """
import sys
from krm_merge.forges.local import LocalForge

url, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for number in range(first, last):
    LocalForge().create(url, f"b{number}", "main", f"change {number}", "", draft=False)
"""


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path)


@pytest.fixture
def forge() -> LocalForge:
    return LocalForge()


def open_pull(forge: LocalForge, origin: Origin, branch: str = "x", *, draft: bool = False) -> ForgePullRequest:
    return forge.create(origin.url, branch, "main", "Title", "Body", draft=draft)


class TestRecords:
    def test_are_readable_and_stable(self, forge: LocalForge, origin: Origin) -> None:
        head = origin.push("x", {"a.yaml": "a: 2\n"})
        forge.create(origin.url, "x", "main", "Größe", "one\ntwo", draft=True)
        forge.comment(origin.url, 1, "So be it")
        text = origin.records.read_text(encoding="utf-8")
        assert json.loads(text) == {
            "pullRequests": [
                {
                    "pull": {
                        "number": 1,
                        "source_branch": "x",
                        "target_branch": "main",
                        "title": "Größe",
                        "body": "one\ntwo",
                        "draft": True,
                        "state": "open",
                        "head": head,
                        "merge_commit": "",
                        "author": "krm-merge",
                        "merged_at": "",
                    },
                    "base": origin.git("rev-parse", "main"),
                    "comments": ["So be it"],
                }
            ]
        }
        assert '        "title": "Größe",\n' in text
        forge.edit(origin.url, 1, "Größe", "one\ntwo")
        assert origin.records.read_text(encoding="utf-8") == text

    def test_are_one_for_all_spellings_of_the_address(self, forge: LocalForge, tmp_path: Path) -> None:
        origin = Origin(tmp_path / "with space")
        origin.push("x", {"a.yaml": "a: 2\n"})
        open_pull(forge, origin)
        quoted = origin.url.replace(" ", "%20")
        for url in (origin.url.removesuffix(".git"), f"file://{quoted}", f"file://localhost{quoted}"):
            assert [pull.number for pull in forge.pull_requests(url)] == [1]

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            "[]",
            "{}",
            '{"pullRequests": [7]}',
            '{"pullRequests": [{"number": 1}]}',
            RECORD.replace('"open"', '"gone"'),
            RECORD.replace('": 1', '": "1"'),
            RECORD.replace('"t"', "7"),
            "[" * 100_000,
            b"\xff".decode("latin-1"),
        ],
    )
    def test_that_are_none_are_kept_and_reported(self, forge: LocalForge, origin: Origin, text: str) -> None:
        origin.push("x", {"a.yaml": "a: 2\n"})
        origin.records.write_text(text, encoding="latin-1")
        with pytest.raises(ForgeError, match=r"app\.pulls\.json holds no pull requests .*; correct it or remove it"):
            open_pull(forge, origin)
        assert origin.records.read_text(encoding="latin-1") == text

    def test_of_two_processes_are_all_there(self, forge: LocalForge, origin: Origin) -> None:
        commit = origin.push("b0", {"a.yaml": "a: 2\n"})
        for number in range(24):
            origin.git("update-ref", f"refs/heads/b{number}", commit)
        starts = range(0, 24, 6)
        running = [
            subprocess.Popen([sys.executable, "-c", OPEN_SOME, origin.url, str(start), str(start + 6)])
            for start in starts
        ]
        assert [process.wait(SECONDS) for process in running] == [0] * len(starts)
        pulls = forge.pull_requests(origin.url)
        assert [pull.number for pull in pulls] == list(range(1, 25))
        assert {pull.source_branch for pull in pulls} == {f"b{number}" for number in range(24)}
        assert sorted(place.name for place in origin.bare.parent.iterdir()) == ["app.git", "app.pulls.json", "checkout"]


class TestObserving:
    def test_the_head_follows_the_branch_while_open(self, forge: LocalForge, origin: Origin) -> None:
        first = origin.push("x", {"a.yaml": "a: 2\n"})
        assert open_pull(forge, origin).head == first
        second = origin.push("x", {"a.yaml": "a: 3\n"})
        assert forge.pull_requests(origin.url)[0].head == second
        forge.close(origin.url, 1)
        origin.push("x", {"a.yaml": "a: 4\n"})
        assert forge.pull_requests(origin.url)[0].head == second

    def test_changes_are_those_since_the_branching(self, forge: LocalForge, origin: Origin) -> None:
        origin.push("x", {"a.yaml": None, "ä/c d.yaml": "a: 1\n", "b.yaml": "b: 2\n"})
        open_pull(forge, origin)
        origin.push("main", {"later.yaml": "new: 1\n"})
        assert forge.changed_files(origin.url, 1) == ["a.yaml", "b.yaml", "ä/c d.yaml"]

    def test_an_open_one_without_its_branch_can_be_looked_at_and_closed(
        self, forge: LocalForge, origin: Origin
    ) -> None:
        head = origin.push("x", {"b.yaml": "b: 2\n"})
        open_pull(forge, origin)
        origin.git("branch", "--quiet", "-D", "x")
        assert forge.pull_requests(origin.url)[0].head == head
        assert forge.changed_files(origin.url, 1) == ["b.yaml"]
        forge.close(origin.url, 1)
        assert forge.pull_requests(origin.url)[0].state == "closed"


class TestMerging:
    @pytest.mark.parametrize(
        ("how", "parents", "subjects", "body"),
        [
            ("merge", 2, ["Merge pull request #1 from x", "version", "version"], "\n\nTitle"),
            ("squash", 1, ["Title (#1)"], "Title (#1)\n\nBody"),
        ],
    )
    def test_brings_the_changes_into_the_target(
        self, forge: LocalForge, origin: Origin, how: How, parents: int, subjects: list[str], body: str
    ) -> None:
        origin.push("x", {"a.yaml": "a: 2\n"}, {"c.yaml": "c: 1\n"})
        open_pull(forge, origin)
        before = origin.push("main", {"b.yaml": "b: 2\n"})
        commit = forge.merge(origin.url, 1, how=how)
        assert origin.git("rev-parse", "main") == commit
        assert [origin.git("show", f"main:{name}.yaml") for name in "abc"] == ["a: 2", "b: 2", "c: 1"]
        assert len(origin.git("show", "--no-patch", "--format=%P", commit).split()) == parents
        subjects_after = origin.git("log", "--format=%s", "--topo-order", f"{before}..main").splitlines()
        assert subjects_after == subjects
        assert origin.git("show", "--no-patch", "--format=%an %cn %ce", commit) == (
            "krm-merge krm-merge krm-merge@localhost"
        )
        assert origin.git("show", "--no-patch", "--format=%B", commit).endswith(body)
        [pull] = forge.pull_requests(origin.url)
        assert (pull.state, pull.merge_commit) == ("merged", commit)

    @pytest.mark.parametrize("how", ALL_HOW)
    def test_with_a_conflict_changes_nothing(self, forge: LocalForge, origin: Origin, how: How) -> None:
        origin.push("x", {"a.yaml": "a: 2\n"})
        open_pull(forge, origin)
        before = origin.push("main", {"a.yaml": "a: 3\n"})
        records = origin.records.read_bytes()
        with pytest.raises(ForgeError, match=r"app\.git: the merge conflicts in a\.yaml; rebase"):
            forge.merge(origin.url, 1, how=how)
        assert origin.git("rev-parse", "main") == before
        assert origin.records.read_bytes() == records

    def test_of_a_draft_needs_force(self, forge: LocalForge, origin: Origin) -> None:
        origin.push("x", {"a.yaml": "a: 2\n"})
        open_pull(forge, origin, draft=True)
        with pytest.raises(ForgeError, match="#1 is a draft; take it out of draft first"):
            forge.merge(origin.url, 1)
        forge.merge(origin.url, 1, force=True)
        assert forge.pull_requests(origin.url)[0].state == "merged"

    def test_heeds_no_settings_of_the_user(
        self, forge: LocalForge, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings = tmp_path / "settings"
        settings.write_text(
            "[user]\nname = me\nemail = me@example.com\n[diff]\nnoprefix = true\n[color]\nui = always\n"
            "[i18n]\ncommitEncoding = ISO-8859-1\n"
        )
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
        monkeypatch.setenv("GIT_AUTHOR_NAME", "me")
        origin.push("x", {"a.yaml": "a: 2\n"})
        monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
        open_pull(forge, origin)
        commit = forge.merge(origin.url, 1)
        monkeypatch.delenv("GIT_DIR")
        assert origin.git("show", "--no-patch", "--format=%an", commit) == "krm-merge"
        assert "encoding" not in origin.git("cat-file", "commit", commit)


class TestMergedByGit:
    @pytest.mark.parametrize("forward", [False, True], ids=["a merge", "a fast-forward"])
    def test_by_git_alone_is_seen(self, forge: LocalForge, origin: Origin, forward: bool) -> None:
        head = origin.push("x", {"a.yaml": "a: 2\n"}, {"a.yaml": "a: 3\n"})
        open_pull(forge, origin, draft=True)
        if not forward:
            origin.push("main", {"b.yaml": "b: 2\n"})
        git(origin.work.path, "checkout", "--quiet", "main")
        git(origin.work.path, "merge", "--quiet", "--no-edit", "--ff" if forward else "--no-ff", head)
        assert forge.pull_requests(origin.url)[0].state == "open"
        git(origin.work.path, "push", "--quiet", origin.url, "HEAD:main")
        merged = git(origin.work.path, "rev-parse", "HEAD").strip()
        origin.push("main", {"c.yaml": "c: 1\n"})
        (pull,) = forge.pull_requests(origin.url)
        assert (pull.state, pull.draft, pull.head, pull.merge_commit) == ("merged", False, head, merged)
        forge.comment(origin.url, 1, "Seen")
        origin.git("branch", "-D", "x")
        assert forge.pull_requests(origin.url) == [pull]


class TestRefusals:
    @pytest.mark.parametrize(
        ("act", "message"),
        [
            (lambda forge, url: forge.create(url, "y", "main", "", "", draft=False), "no branch y; push it first"),
            (lambda forge, url: forge.create(url, "x", "y", "", "", draft=False), "no branch y; push it first"),
            (lambda forge, url: forge.create(url, "x~1", "main", "", "", draft=False), "no branch x~1; push it"),
            (
                lambda forge, url: forge.create(url, "main", "x", "", "", draft=False),
                "main has no commits that x lacks",
            ),
            (lambda forge, url: forge.create(url, "alone", "main", "", "", draft=False), "no history in common"),
            (lambda forge, url: forge.edit(url, 7, "", ""), r"no pull request #7 in app\.pulls\.json"),
            (lambda forge, url: forge.comment(url, 7, "x"), r"no pull request #7 in app\.pulls\.json"),
            (lambda forge, url: forge.changed_files(url, 7), r"no pull request #7 in app\.pulls\.json"),
        ],
    )
    def test_name_the_repository_and_what_to_do(
        self, forge: LocalForge, origin: Origin, act: Callable[[LocalForge, str], object], message: str
    ) -> None:
        origin.push("x", {"a.yaml": "a: 2\n"})
        git(origin.work.path, "checkout", "--quiet", "--orphan", "alone")
        origin.work.commit({"a.yaml": "other: 1\n"})
        git(origin.work.path, "push", "--quiet", origin.url, "alone")
        with pytest.raises(ForgeError, match=rf"app\.git: .*{message}"):
            act(forge, origin.url)
        assert not origin.records.exists()

    @pytest.mark.parametrize("end", ["close", "merge"])
    def test_what_has_ended_stays_so(self, forge: LocalForge, origin: Origin, end: str) -> None:
        origin.push("x", {"a.yaml": "a: 2\n"})
        open_pull(forge, origin)
        getattr(forge, end)(origin.url, 1)
        before = origin.records.read_bytes()
        state = forge.pull_requests(origin.url)[0].state
        with pytest.raises(ForgeError, match=f"#1 is {state} already"):
            forge.merge(origin.url, 1)
        with pytest.raises(ForgeError, match=f"#1 is {state} and cannot become a draft"):
            forge.set_draft(origin.url, 1, draft=True)
        forge.close(origin.url, 1)
        assert origin.records.read_bytes() == before

    def test_nothing_to_merge(self, forge: LocalForge, origin: Origin) -> None:
        origin.push("x", {"a.yaml": "a: 2\n"})
        open_pull(forge, origin)
        origin.git("update-ref", "refs/heads/x", "main")
        with pytest.raises(ForgeError, match="#1 has no commits that main lacks"):
            forge.merge(origin.url, 1)

    @pytest.mark.parametrize(
        "address",
        [
            "{}/checkout",
            "{}/checkout/.git",
            "{}/absent",
            "https://me:hidden@example.com/a/b.git",
            "",
            "/",
            "a\0b",
            "http://[",
            "file://[",
        ],
    )
    def test_of_what_is_no_bare_repository(
        self, forge: LocalForge, origin: Origin, tmp_path: Path, address: str
    ) -> None:
        problem = "there is no bare git repository; make one with" if address else "the address is empty"
        with pytest.raises(ForgeError, match=problem) as raised:
            forge.pull_requests(address.format(tmp_path))
        assert "hidden" not in str(raised.value)

    def test_without_git(self, forge: LocalForge, origin: Origin, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        with pytest.raises(ForgeError, match="git is not on PATH; install it"):
            forge.pull_requests(origin.url)
