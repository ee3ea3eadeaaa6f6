"""Bad input of `krm-merge merge`, and texts that do not parse: one clear message, and the package as it was."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands.merge.updates import Run, assert_unchanged, check_refusal
from packages.repositories import config_map, snapshot


def lines(first: str, last: str) -> str:
    return config_map("x", first=first, a="a", b="b", c="c", last=last)


class TestWhatDoesNotParse:
    @pytest.mark.parametrize(
        ("side", "original", "upstream", "local", "expected", "broken"),
        [
            ("original", ("BROKEN", "one"), ("two", "one"), ("BROKEN", "own"), ("two", "own"), "[one"),
            ("upstream", ("one", "one"), ("BROKEN", "one"), ("one", "own"), ("BROKEN", "own"), "[one"),
            ("local", ("one", "one"), ("two", "one"), ("one", "BROKEN"), ("two", "BROKEN"), "[one"),
            ("upstream", ("one", "one"), ("BROKEN", "one"), ("one", "own"), ("BROKEN", "own"), '"\\q"'),
            ("upstream", ("one", "one"), ("BROKEN", "one"), ("one", "own"), ("BROKEN", "own"), "\t@"),
        ],
    )
    def test_it_is_merged_by_lines_and_all_else_as_usual(
        self,
        three: Callable[..., list[Path]],
        krm_merge: Callable[..., Run],
        side: str,
        original: tuple[str, str],
        upstream: tuple[str, str],
        local: tuple[str, str],
        expected: tuple[str, str],
        broken: str,
    ) -> None:
        texts = [lines(*pair).replace("BROKEN", broken) for pair in (original, upstream, local, expected)]
        names = ("original", "upstream", "local")
        sides = three({name: {"x.yaml": text} for name, text in zip(names, texts, strict=False)})
        done = krm_merge("merge", *sides, "--in-place")
        assert done.returncode == 0, done.stderr
        warnings = [line for line in done.stderr.splitlines() if line.startswith("warning ")]
        assert any(re.search(rf"x\.yaml: .*\b{side}\b.* not parse .*; merged as text", line) for line in warnings)
        assert (sides[2] / "x.yaml").read_text() == texts[3]
        assert (sides[2] / "a.yaml").read_text() == config_map("a", color="blue", size="one")
        assert (sides[2] / "c.yaml").exists()
        assert not (sides[2] / "b.yaml").exists()

    def test_what_is_not_utf_8_is_merged_by_lines(
        self, three: Callable[..., list[Path]], krm_merge: Callable[..., Run]
    ) -> None:
        texts = [lines("one", "one"), lines("\xff", "one"), lines("one", "own"), lines("\xff", "own")]
        names = ("original", "upstream", "local")
        sides = three({name: {"x.yaml": text.encode("latin-1")} for name, text in zip(names, texts, strict=False)})
        done = krm_merge("merge", *sides, "--in-place")
        assert done.returncode == 0, done.stderr
        assert "x.yaml: upstream does not parse (not UTF-8); merged as text" in done.stderr
        assert (sides[2] / "x.yaml").read_bytes() == texts[3].encode("latin-1")

    def test_what_upstream_did_not_change_is_no_matter(
        self, three: Callable[..., list[Path]], krm_merge: Callable[..., Run]
    ) -> None:
        same = lines("[one", "one")
        sides = three({"original": {"x.yaml": same}, "upstream": {"x.yaml": same}, "local": {"x.yaml": "'"}})
        done = krm_merge("merge", *sides, "--in-place")
        assert done.returncode == 0, done.stderr
        assert (sides[2] / "x.yaml").read_text() == "'"
        assert (sides[2] / "c.yaml").exists()


class TestMerge:
    @pytest.mark.parametrize(
        ("arguments", "phrases"),
        [
            (["{o}", "{u}", "{l}/none"], ["/none: there is no such file or directory"]),
            (["{o}/none", "{u}", "{l}", "--in-place"], ["/none: there is no such file or directory"]),
            (["{o}/a.yaml", "{u}/none.yaml", "{l}/a.yaml"], ["/none.yaml: there is no such file or directory"]),
            (["{o}", "{u}", "{l}", "-o", "{o}"], ["is not empty; name a new directory, or use --in-place"]),
            (["{o}", "{u}", "{l}", "-o", "{l}"], ["is not empty; name a new directory, or use --in-place"]),
            (["{o}", "{u}", "{l}", "-o", "{o}/a.yaml"], ["a.yaml"]),
            (["{o}/a.yaml", "{u}/a.yaml", "{l}/a.yaml", "-o", "{l}/none/a.yaml"], ["/none/a.yaml: No such file"]),
            (["{o}/a.yaml", "{u}/a.yaml", "{l}/a.yaml", "-o", "{l}/folder"], ["/folder: Is a directory"]),
        ],
    )
    def test_what_cannot_be_done_is_refused(
        self,
        three: Callable[..., list[Path]],
        krm_merge: Callable[..., Run],
        arguments: list[str],
        phrases: list[str],
    ) -> None:
        sides = three()
        before = [snapshot(side) for side in sides]
        names = dict(zip("oul", sides, strict=True))
        done = krm_merge("merge", *(word.format(**names) for word in arguments), "--quiet")
        check_refusal(done, *phrases)
        assert [snapshot(side) for side in sides] == before

    def test_with_on_conflict_fail_a_conflict_changes_nothing(
        self, three: Callable[..., list[Path]], krm_merge: Callable[..., Run]
    ) -> None:
        sides = three({"local": {"a.yaml": config_map("a", color="green", size="one")}})
        before = snapshot(sides[2])
        done = krm_merge("merge", *sides, "--in-place", "--on-conflict=fail")
        assert done.returncode == 1
        assert done.stderr.startswith("error ")
        assert "refused; nothing was written" in done.stderr.splitlines()
        assert_unchanged(sides[2], before)
        target = sides[0].parent / "target"
        assert krm_merge("merge", *sides, "-o", target, "--on-conflict=fail").returncode == 1
        assert not target.exists()
