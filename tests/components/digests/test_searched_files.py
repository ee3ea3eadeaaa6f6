"""The files that are searched for digests (C17)."""

from __future__ import annotations

import pytest

from krm_merge.components.searched_files import is_candidate, is_searched

USUAL = (
    "x.Dockerfile",
    "app.dockerfile",
    "Containerfile",
    "a.containerfile",
    "c.json",
    "build.env",
    ".env",
    "job.conf",
)


@pytest.mark.parametrize(
    ("path", "data", "expected"),
    [
        ("a.yaml", b"a: 1\n", True),
        ("empty", b"", True),
        ("a.yaml", b"a\0b", False),
        ("a.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", False),
        ("a.json", b" " * 5 * 1024 * 1024, True),
        ("a.json", b" " * (5 * 1024 * 1024 + 1), False),
        (".git/config.yaml", b"", False),
        ("a/vendor/b.yaml", b"", False),
    ],
)
def test_candidates(path: str, data: bytes, expected: bool) -> None:
    assert is_candidate(path, data) is expected


@pytest.mark.parametrize("name", ["Dockerfile", "a.Dockerfile.in", "Makefile", "images.txt", "x.tf", *USUAL])
@pytest.mark.parametrize("context", ["bundle", "./bundle/", "/bundle", "bundle/x/.."])
def test_the_usual_names_inside_the_context(name: str, context: str) -> None:
    """C17."""
    assert is_searched(f"bundle/{name}", context, [], [])
    assert is_searched(f"bundle/deep/er/{name}", context, [], [])
    assert not is_searched(f"bundle2/{name}", context, [], [])
    assert not is_searched(name, context, [], [])


@pytest.mark.parametrize("context", ["", ".", "./", "/"])
def test_without_context_all_directories(context: str) -> None:
    assert is_searched("a.yaml", context, [], [])
    assert is_searched("a/.tekton/b.yml", context, [], [])
    assert is_searched("install.sh", context, [], [])


@pytest.mark.parametrize("path", ["main.go", "env", "README.md", "yaml", "txt", "a.yaml/x"])
def test_other_names_are_not_looked_at(path: str) -> None:
    assert not is_searched(path, ".", [], [])


@pytest.mark.parametrize("path", [".git/a.yaml", "vendor/a.yaml", "ui/node_modules/x/a.json"])
def test_what_others_write_never(path: str) -> None:
    assert not is_searched(path, ".", [], [])
    assert not is_searched(path, ".", [path, "**"], [])


@pytest.mark.parametrize(
    ("glob", "matching", "others"),
    [
        ("a.txt", ["a.txt", "a.txt/below"], ["b/a.txt", "a.txt2"]),
        ("*.txt", ["a.txt", ".txt"], ["b/a.txt", "a.txt/below"]),
        ("**/*.txt", ["a.txt", "b/a.txt", "b/c/a.txt"], ["a.md"]),
        ("b/*", ["b/a.txt"], ["b/c/a.txt", "b"]),
        ("b/**", ["b/a.txt", "b/c/a.txt"], ["a.txt"]),
        ("b/**/a.txt", ["b/a.txt", "b/c/d/a.txt"], ["a.txt", "b/a.md"]),
        ("b", ["b/a.txt", "b/c/a.txt"], ["bb/a.txt", "c/b/a.txt"]),
        ("./b/c/", ["b/c/a.txt"], ["b/a.txt"]),
        ("b*/", ["b1/a.txt", "b2/c/a.txt"], ["c/b/a.txt"]),
        ("/b/[ac].txt", ["b/a.txt"], ["b/b.txt"]),
        ("", [], ["a.txt"]),
    ],
)
def test_globs(glob: str, matching: list[str], others: list[str]) -> None:
    for path in matching:
        assert is_searched(path, "elsewhere", [glob], [])
        assert not is_searched(path, "elsewhere", ["**"], [glob])
    for path in others:
        assert not is_searched(path, ".", [glob], [])
        assert is_searched(path, ".", ["**"], [glob])
