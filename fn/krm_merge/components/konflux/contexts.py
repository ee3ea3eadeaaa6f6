"""The directories that Components are built from, and which changes concern them (rules R12, R13, I7)."""

from __future__ import annotations

from collections.abc import Iterable


def normalised(context: str) -> str:
    """The normal spelling of a directory, '.' for the whole repository.

    Raises:
        ValueError: The directory is outside the repository.
    """
    segments: list[str] = []
    for segment in context.split("/"):
        if segment == "..":
            if not segments:
                raise ValueError(f"the context {context!r} leaves the repository; name a directory inside it")
            segments.pop()
        elif segment not in ("", "."):
            segments.append(segment)
    return "/".join(segments) or "."


def touches(context: str, files: Iterable[str]) -> bool:
    """Whether a change of these files concerns a directory; of a renamed file both names are given (R12)."""
    directory = normalised(context)
    # A Component of the whole repository is built for every event, even for a commit without changes.
    return directory == "." or any(file.startswith(f"{directory}/") for file in files)


def common(contexts: Iterable[str]) -> str:
    """The deepest directory that holds all these, '.' where they share none (I7)."""
    paths = [[] if context == "." else context.split("/") for context in map(normalised, contexts)]
    shared: list[str] = []
    # The shortest path ends the comparison.
    for level in zip(*paths, strict=False):
        if len(set(level)) > 1:
            break
        shared.append(level[0])
    return "/".join(shared) or "."
