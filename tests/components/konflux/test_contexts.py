"""Directories of Components, and which changes concern them (CR12, I7, S11)."""

from __future__ import annotations

import pytest

from krm_merge.components.konflux.model import common, normalise, touches

SPELLINGS = [
    ("", "."),
    (".", "."),
    ("./", "."),
    ("/", "."),
    ("//", "."),
    ("./.", "."),
    ("foo", "foo"),
    ("./foo/", "foo"),
    ("/foo", "foo"),
    ("foo//bar/./baz/", "foo/bar/baz"),
    ("foo/..", "."),
    ("foo/../bar", "bar"),
    ("foo\\bar", "foo\\bar"),
    ("...", "..."),
]


@pytest.mark.parametrize(("context", "expected"), SPELLINGS)
def test_normalised(context: str, expected: str) -> None:
    assert normalise(context) == expected


@pytest.mark.parametrize("context", ["..", "../foo", "foo/../..", "/../foo", "./a/../../b"])
def test_a_directory_outside_is_refused(context: str) -> None:
    with pytest.raises(ValueError, match="leaves the repository") as refused:
        normalise(context)
    assert repr(context) in str(refused.value)


TOUCHES = [
    # context, files, whether they concern it (S11)
    (".", ["a"], True),
    ("", ["a/b/c"], True),
    (".", [], True),
    ("foo", ["foo/x"], True),
    ("foo", ["foo/deep/er/x"], True),
    ("foo", ["foobar/x"], False),
    ("foo", ["bar/foo/x"], False),
    ("foo", ["foo"], False),
    ("foo", ["Foo/x"], False),
    ("foo", [], False),
    ("./foo/", ["foo/x"], True),
    ("/foo", ["foo/x"], True),
    ("foo/bar", ["foo/x"], False),
    ("foo/bar", ["foo/x", "foo/bar/x"], True),
    # A file that was deleted is named like one that was changed; a renamed one is named twice.
    ("foo", ["foo/deleted"], True),
    ("foo", ["foo/old", "bar/new"], True),
    ("foo", ["bar/old", "foo/new"], True),
    ("foo", ["bar/old", "baz/new"], False),
]


@pytest.mark.parametrize(("context", "files", "expected"), TOUCHES)
def test_touches(context: str, files: list[str], expected: bool) -> None:
    """CR12, S11: a build runs for what is added, changed, removed or renamed in the directory."""
    assert touches(context, files) is expected


COMMON = [
    ([], "."),
    (["foo"], "foo"),
    (["foo", "./foo/"], "foo"),
    (["foo", "foobar"], "."),
    (["foo", "foo/bar"], "foo"),
    (["services/api", "services/web/", "./services/db"], "services"),
    (["services/api/a", "services/api/b"], "services/api"),
    (["services/api", "."], "."),
    (["a/x", "b/x"], "."),
]


@pytest.mark.parametrize(("contexts", "expected"), COMMON)
def test_common(contexts: list[str], expected: str) -> None:
    """I7, S11."""
    assert common(contexts) == expected
