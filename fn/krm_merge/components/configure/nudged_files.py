"""The files that digest updates edit, as expressions of Pipelines as Code can test for them.

Their globs are those of `digest.files`: `*` is within a name, `**` any directories, and one that ends in a name without
wildcards is of a directory, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from krm_merge.components.digests.replacement import DEFAULT_FILES

_WILDCARDS: Final = re.compile(r"[*?\[]")
_CONTENT: Final = "**"
_LITERALS = {".": "[.]", **{character: f"\\{character}" for character in "\\+()|{}^$*?[]"}}
_PIECE = re.compile(
    r"(?P<stars>\*+)|(?P<any>\?)|\[(?P<one>[^!/])\]"
    r"|\[(?P<not>!?)(?P<class>(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[A-Za-z0-9_.])+)\]"
    r"|(?P<text>[^*?\[])",
    re.DOTALL,
)


DEFAULT_NUDGED: Final = (".*Dockerfile.*", ".*.yaml", ".*Containerfile.*")
"""What build-service edits where `build-nudge-files` is not written, as regular expressions for whole paths."""


def below(glob: str, directory: str) -> list[str]:
    """Globs of what a glob is of in a directory, which is normalised; none where nothing there is of it."""
    names = [name for name in glob.split("/") if name not in ("", ".")]
    if glob.endswith("/"):
        names.append(_CONTENT)
    rests = {tuple(names)} if names else set()
    outer = [] if directory == "." else directory.split("/")
    for name in outer:
        rests = {rest for each in rests for rest in _inside(each, name)}
    escaped = [_WILDCARDS.sub(r"[\g<0>]", name) for name in outer]
    return sorted("/".join([*escaped, *rest]) for rest in rests)


def _inside(names: Sequence[str], directory: str) -> Iterator[tuple[str, ...]]:
    """What is left of the names of a glob inside a directory that the first ones are of."""
    if not names:
        return
    first, *rest = names
    if first == _CONTENT:
        yield (first, *rest)
        yield from _inside(rest, directory)
    elif fnmatchcase(directory, first):
        if rest:
            yield tuple(rest)
        elif not _WILDCARDS.search(first):
            yield (_CONTENT,)


def is_file(glob: str) -> bool:
    """Whether a glob is the path of a file: without wildcards, and named as directories are not."""
    name = glob.rpartition("/")[2]
    return not _WILDCARDS.search(glob) and any(fnmatchcase(name, usual) for usual in DEFAULT_FILES)


def regular_expression(glob: str) -> str | None:
    """A glob in the syntax of RE2; None where its characters in brackets are beyond us."""
    names = glob.split("/")
    with_content = names[-1] == _CONTENT or not _WILDCARDS.search(names[-1])
    while names and names[-1] == _CONTENT:
        names.pop()
    written: list[str] = []
    for name in names:
        text = "(?:[^/]+/)*" if name == _CONTENT else _written(name)
        if text is None:
            return None
        written.append(text)
    end = "(?:/|$)" if with_content else "$"
    pattern = f"^{''.join(written).removesuffix('/')}{end}" if written else "^"
    try:
        re.compile(pattern)  # of what is written here Python and RE2 refuse the same: ranges that run backwards
    except re.error:
        return None
    return pattern


def nudge_file_pattern(glob: str) -> str | None:
    """A glob for `build-nudge-files`, whose entries end at commas; None where it cannot be written there."""
    pattern = f"^{_escaped(glob)}$" if is_file(glob) else regular_expression(glob)
    return pattern.replace(",", r"\x2c") if pattern is not None else None


def default_patterns(directory: str) -> list[str]:
    """What build-service edits in a directory, which is normalised, where nobody says which files."""
    return [f"^{_escaped(directory)}/{pattern}" for pattern in DEFAULT_NUDGED]


def _escaped(text: str) -> str:
    return "".join(_LITERALS.get(character, character) for character in text)


def _written(name: str) -> str | None:
    """The name of a file or directory, and the slash behind it."""
    pieces = list(_PIECE.finditer(name))
    if "".join(piece[0] for piece in pieces) != name:
        return None
    return "".join(map(_piece, pieces)) + "/"


def _piece(piece: re.Match[str]) -> str:
    if piece["stars"]:
        return "[^/]*"
    if piece["any"]:
        return "[^/]"
    if characters := piece["class"]:
        return f"[^{characters}/]" if piece["not"] else f"[{characters}]"
    # Nothing needs a backslash that would have to be doubled in a text of the expression, but what nobody writes.
    return _LITERALS.get(character := piece["one"] or piece["text"], character)
