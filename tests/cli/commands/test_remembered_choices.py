"""What was chosen in a merge of git settles the same conflict in the next one, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands.merges import commit, deployment, git, repository


def diverged(place: Path) -> Path:
    """A repository on main with two replicas, and a branch `topic` with five; both had one."""
    work = repository(place, "work")
    commit(work, "base", web=deployment("web", 1))
    git(work, "checkout", "--quiet", "-b", "topic")
    commit(work, "five", web=deployment("web", 5))
    git(work, "checkout", "--quiet", "main")
    commit(work, "two", web=deployment("web", 2))
    return work


def test_a_rebase_that_is_begun_again_is_settled_by_what_was_chosen(tmp_path: Path) -> None:
    work = diverged(tmp_path)
    git(work, "checkout", "--quiet", "topic")
    assert "web.yaml" in git(work, "rebase", "main", code=1)
    assert "<<<<<<<" in (work / "web.yaml").read_text()
    # The commit that is rebased is theirs.
    git(work, "mergetool", "--tool", "krm", "--no-prompt", stdin="u\n")
    assert (work / "web.yaml").read_text() == deployment("web", 5)
    assert git(work, "diff", "--name-only", "--diff-filter", "U") == ""
    git(work, "rebase", "--abort")
    output = git(work, "rebase", "main")
    assert "web.yaml: Deployment web: spec.replicas: settled as chosen before in this repository: upstream" in output
    assert (work / "web.yaml").read_text() == deployment("web", 5)
    assert git(work, "status", "--porcelain") == ""


def test_a_mergetool_that_is_left_leaves_the_conflict(tmp_path: Path) -> None:
    work = diverged(tmp_path)
    git(work, "merge", "topic", code=1)
    before = (work / "web.yaml").read_text()
    git(work, "mergetool", "--tool", "krm", "--no-prompt", stdin="q\n", code=1)
    assert (work / "web.yaml").read_text() == before
    assert git(work, "diff", "--name-only", "--diff-filter", "U") == "web.yaml\n"
    assert not (work / ".git" / "krm-merge").exists()
    git(work, "mergetool", "--tool", "krm", "--no-prompt", stdin="l\n")
    assert (work / "web.yaml").read_text() == deployment("web", 2)
    # The same merge, begun again, is settled by what was chosen.
    git(work, "merge", "--abort")
    git(work, "merge", "topic")
    assert (work / "web.yaml").read_text() == deployment("web", 2)


CHART_VALUES = "image: web\nreplicas: {}\n"
OF_TWO_PEOPLE = {
    "another resource": ("web.yaml", deployment("web", 5), "pay.yaml", deployment("payments", 5), False),
    "another namespace": (
        *("web.yaml", deployment("web", 5), "pay.yaml"),
        *(deployment("web", 5).replace("  name: web\n", "  name: web\n  namespace: pay\n"), False),
    ),
    "the same resource, moved": ("web.yaml", deployment("web", 5), "moved.yaml", deployment("web", 5), True),
    "another file without resources": (
        *("a/values.yaml", CHART_VALUES.format(5), "b/values.yaml", CHART_VALUES.format(5), False),
    ),
    "the same file": ("a/values.yaml", CHART_VALUES.format(5), "a/values.yaml", CHART_VALUES.format(5), True),
}


@pytest.mark.parametrize(
    ("first", "text", "second", "other", "is_remembered"), OF_TWO_PEOPLE.values(), ids=OF_TWO_PEOPLE
)
def test_a_remembered_choice_is_for_its_resource_or_file(
    tmp_path: Path, first: str, text: str, second: str, other: str, is_remembered: bool
) -> None:
    """I15: what the repository remembers settles nothing else, and is named where it settles something."""
    work = repository(tmp_path, "work")

    def commit_value(name: str, content: str, value: int) -> None:
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(content.replace(": 5\n", f": {value}\n"))
        git(work, "add", ".")
        git(work, "commit", "--quiet", "--message", f"{name} {value}")

    def merge(name: str, content: str, branch: str, code: int) -> str:
        commit_value(name, content, 5)
        git(work, "checkout", "--quiet", "-b", branch)
        commit_value(name, content, 6)
        git(work, "checkout", "--quiet", "main")
        commit_value(name, content, 7)
        return git(work, "merge", branch, code=code)

    merge(first, text, "topic", 1)
    git(work, "mergetool", "--tool", "krm", "--no-prompt", stdin="u\n")
    git(work, "commit", "--quiet", "--all", "--message", "merged")
    output = merge(second, other, "later", 0 if is_remembered else 1)
    assert ("settled as chosen before in this repository: upstream" in output) is is_remembered
    assert ((work / second).read_text() == other.replace(": 5\n", ": 6\n")) is is_remembered
