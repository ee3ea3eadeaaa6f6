"""The files that digest updates edit, as expressions of Pipelines as Code can test for them.

Their globs are those of `digest.files`: `*` matches within a name, `**` any directories, and a glob that ends in a name
without wildcards matches a directory, too.
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
"""The files that build-service edits without `build-nudge-files`, as regular expressions for whole paths."""


def below(glob: str, directory: str) -> list[str]:
    """Globs of the files in a normalised directory that a glob matches; empty if it matches none there."""
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
    """The remaining names of a glob inside a directory that its first names match."""
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
    """Whether a glob is the path of a file: without wildcards, and with a name that directories do not have."""
    name = glob.rpartition("/")[2]
    return not _WILDCARDS.search(glob) and any(fnmatchcase(name, usual) for usual in DEFAULT_FILES)


def regular_expression(glob: str) -> str | None:
    """A glob in the syntax of RE2; None if its bracket expression is not supported."""
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
        re.compile(pattern)  # Python and RE2 refuse the same: reversed ranges
    except re.error:
        return None
    return pattern


def nudge_file_pattern(glob: str) -> str | None:
    """A glob for `build-nudge-files`, whose entries end at commas; None if it cannot be expressed there."""
    pattern = f"^{_escaped(glob)}$" if is_file(glob) else regular_expression(glob)
    return pattern.replace(",", r"\x2c") if pattern is not None else None


def default_patterns(directory: str) -> list[str]:
    """The files that build-service edits in a normalised directory by default."""
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
    # Avoids backslashes, which the string literals of expressions would double.
    return _LITERALS.get(character := piece["one"] or piece["text"], character)
