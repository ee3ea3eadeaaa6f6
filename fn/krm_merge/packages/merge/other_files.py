"""Three-way merge of files that hold no resources, or do not parse, and of values files (rules R4, R5, W5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from posixpath import basename
from typing import Literal, NamedTuple, TypeAlias

from krm_merge.krm import NO_RESOURCE, Resource, Result, Results, Severity
from krm_merge.merge import (
    Choice,
    FieldMerge,
    FileDecision,
    Fit,
    Member,
    MergedText,
    Policy,
    Resolution,
    ResourceOutcome,
    Side,
    carry_out,
    choose_text,
    file_content,
    fingerprint,
    matching_blocks,
    merge_document,
    merge_embedded,
    merge_lines,
    merge_whole_text,
    report,
)
from krm_merge.packages.files.tree import Changes, File, Tree, data_of, holds_resources, is_json, merged_mode
from krm_merge.schema import FILES as KUSTOMIZATION_FILES
from krm_merge.schema import KustomizationSchema, Schema, Secrecy, any_object_schema, is_secret_file
from krm_merge.startup import pattern, replace
from krm_merge.text import BOM, documents_in, mapping_in, split_documents, usual_line_end

MARKER_SIZE = 7
"""The length of git's markers, by default."""

_DOCUMENTATION = (".md", ".rst", ".adoc")
# Longer ones come from `conflict-marker-size`, and from merges of merges.
_BEGINS = pattern(rb"^<{7,}(?: [^\n]*|\r)?$", re.MULTILINE)
_DIVIDES = pattern(rb"^={7,}\r?$", re.MULTILINE)
_ENDS = pattern(rb"^>{7,}(?: [^\n]*|\r)?$", re.MULTILINE)


class MarkedChanges(NamedTuple):
    """Changes of files, the number of places between markers, and the binary files in conflict, which have none."""

    changes: dict[str, File | None]
    places: int
    binary: tuple[str, ...]


def lines_of_conflicts(tree: Tree) -> dict[str, int]:
    """The line of the first conflict between markers, from 1, in each file that holds one.

    Documentation is left out: it shows markers.
    """
    lines = {
        path: _line_of_conflict(file.data)
        for path, file in tree.items()
        if file.mode != "link" and not path.endswith(_DOCUMENTATION)
    }
    return {path: line for path, line in lines.items() if line}


def _line_of_conflict(data: bytes) -> int:
    if (
        b"<" * MARKER_SIZE in data
        and (begins := _BEGINS.search(data))
        and (divides := _DIVIDES.search(data, begins.end()))
        and _ENDS.search(data, divides.end())
    ):
        return data.count(b"\n", 0, begins.start()) + 1
    return 0


def marked_changes(local: Tree, ours: Changes, theirs: Changes, size: int) -> MarkedChanges:
    """The changes of two merges that differ only in who wins conflicts, with markers where they differ."""
    changes: dict[str, File | None] = {}
    places, binary = 0, []
    for path in dict.fromkeys([*ours, *theirs]):
        mine, other = (side[path] if path in side else local.get(path) for side in (ours, theirs))
        if mine == other:
            changes[path] = mine
            continue
        if _is_binary(mine) or _is_binary(other):
            # No place for markers: ours is kept, as in git.
            changes[path] = mine
            binary.append(path)
            continue
        data, count = with_markers(data_of(mine), data_of(other), size)
        like = mine or other
        assert like is not None
        changes[path] = File(data, like.mode)
        places += count
    changed = {path: file for path, file in changes.items() if file != local.get(path)}
    return MarkedChanges(changed, places, tuple(binary))


def _is_binary(file: File | None) -> bool:
    return file is not None and b"\0" in file.data


def with_markers(ours: bytes, theirs: bytes, size: int) -> tuple[bytes, int]:
    """One text of two, with markers of `size` where they differ, and the number of places."""
    pieces: list[bytes] = []
    conflicts = 0
    documents = split_documents(ours), split_documents(theirs)
    # Without as many on both sides nobody knows which ones belong together.
    if len(documents[0]) != len(documents[1]):
        documents = [ours], [theirs]
    for mine, other in zip_longest(*documents):
        text, count = _mark_lines(mine.splitlines(keepends=True), other.splitlines(keepends=True), size)
        pieces += text
        conflicts += count
    return b"".join(pieces), conflicts


def _mark_lines(ours: list[bytes], theirs: list[bytes], size: int) -> tuple[list[bytes], int]:
    if ours == theirs:
        return ours, 0
    # Only markers need it.
    from difflib import SequenceMatcher

    newline = usual_line_end(b"".join(ours or theirs))
    out: list[bytes] = []
    conflicts = 0
    for tag, start, stop, other_start, other_stop in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            out += ours[start:stop]
            continue
        conflicts += 1
        out += [
            b"<" * size + b" ours" + newline,
            *_whole(ours[start:stop], newline),
            b"=" * size + newline,
            *_whole(theirs[other_start:other_stop], newline),
            b">" * size + b" theirs" + newline,
        ]
    return out, conflicts


def _whole(lines: list[bytes], newline: bytes) -> list[bytes]:
    """The lines, the last one ended."""
    return [line if line.endswith((b"\n", b"\r")) else line + newline for line in lines]


FileVersions: TypeAlias = tuple[File | None, File | None, File | None]
"""A file in original, upstream and local."""

_ANY = pattern(rb"(\r\n|\n|\r)")
_WITH_LF = pattern(rb"(\r\n|\n)")


def is_yaml(path: str) -> bool:
    """Whether a file of this name is YAML or JSON."""
    return holds_resources(path) or is_json(path) or basename(path) in KUSTOMIZATION_FILES


def plain(path: str, file: File) -> File:
    """The file with LF at the end of each line; binary files and links as they are."""
    if b"\r" not in file.data or not _has_lines(file):
        return file
    return replace(file, data=_ends_of(path, file.data).sub(b"\n", file.data))


def plain_versions(path: str, versions: FileVersions) -> FileVersions:
    """The file with LF on all sides, so that line ends make no conflict."""
    if _are_content(path, versions):
        return versions
    original, upstream, local = (None if file is None else plain(path, file) for file in versions)
    return original, upstream, local


def _are_content(path: str, versions: FileVersions) -> bool:
    """Whether line ends are part of the lines, as for git: in a text in which all three sides mix them."""
    return not is_yaml(path) and all(file is not None and len(_kinds(path, file)) > 1 for file in versions)


def with_line_ends(path: str, merged: File, versions: FileVersions) -> File:
    """What plain versions were merged to, with the line ends of local, or of upstream where local left them alone."""
    if not _has_lines(merged) or _are_content(path, versions):
        return merged
    like = _like(path, versions)
    if like is None or b"\r" not in like.data:
        return merged
    if merged.data == plain(path, like).data:
        return replace(merged, data=like.data)
    if len(_kinds(path, like)) > 1:
        return replace(merged, data=_with_ends_of_lines(_ends_of(path, like.data).split(like.data), merged.data))
    return replace(merged, data=merged.data.replace(b"\n", usual_line_end(like.data)))


def _like(path: str, versions: FileVersions) -> File | None:
    """The version that has the line ends of the merged file."""
    original, upstream, local = versions
    if upstream is None or not _has_lines(upstream):
        return local
    if local is None or local == original or not _has_lines(local):
        return upstream
    before, theirs, ours = (len(_kinds(path, file)) for file in versions)
    # Upstream put in order what local has mixed as the original had it.
    return upstream if not ours or (ours > 1 and before > 1 and theirs == 1) else local


def _with_ends_of_lines(parts: list[bytes], merged: bytes) -> bytes:
    """A text in which the lines that another one has keep their line ends, and others get those of most lines.

    `parts` are the lines of the other text, each followed by its end.
    """
    ours, lines = [*parts[::2]], merged.split(b"\n")
    endings = [*parts[1::2], b""]
    usual = usual_line_end(b"".join(parts))
    ends = [usual] * len(lines)
    for start, at, length in matching_blocks(ours, lines):
        ends[at : at + length] = [end or usual for end in endings[start : start + length]]
    ends[-1] = b""
    return b"".join(piece for line in zip(lines, ends, strict=True) for piece in line)


def _has_lines(file: File) -> bool:
    return file.mode != "link" and b"\0" not in file.data


def _kinds(path: str, file: File | None) -> set[bytes]:
    """The line ends that a file has."""
    if file is None or not _has_lines(file):
        return set()
    if b"\r" not in file.data:
        return {b"\n"} if b"\n" in file.data else set()
    return set(_ends_of(path, file.data).findall(file.data))


def _ends_of(path: str, data: bytes) -> re.Pattern[bytes]:
    """What ends a line: CR alone does so in YAML, elsewhere only where nothing else does."""
    return _ANY if is_yaml(path) or b"\n" not in data else _WITH_LF


class MergedFile(NamedTuple):
    """Local's file after the merge, None where it has none.

    It was decided as a file, or by the fields of its one document, whose `results` are to be reported.
    """

    file: File | None
    decisions: tuple[FileDecision, ...] = ()
    outcome: ResourceOutcome | None = None
    results: tuple[Result, ...] = ()


def merge_values(
    path: str, original: File | None, upstream: File | None, local: File | None, policy: Policy
) -> MergedFile | None:
    """Merges by fields (V), None where a side is not one mapping."""
    members = [_member(path, file) for file in (original, upstream, local)]
    before, theirs, ours = members
    if theirs is None or ours is None or local is None or (before is None and original is not None):
        return None
    schema: Schema = KustomizationSchema() if basename(path) in KUSTOMIZATION_FILES else any_object_schema()
    outcome = merge_document(before, theirs, ours, FieldMerge(schema, policy, file=path))
    results = Results()
    refused = any(decision.severity == "error" for decision in outcome.decisions)
    resource = Resource.from_tree(ours.root)
    if not refused:
        carry_out(resource, outcome, results)
    report(outcome, resource, results, refused=refused or bool(results.errors))
    file = local
    if resource.is_changed and not results.errors:
        bom = BOM if local.data.decode().startswith(BOM) else ""
        file = File((bom + resource.text()).encode(), merged_mode(original, upstream, local))
    if original is not None and upstream is not None and not results.errors:
        file = replace(file, data=_with_separators(original.data, upstream.data, local.data, file.data))
    return MergedFile(file, outcome=outcome, results=tuple(results))


def _merge_list(path: str, sides: FileVersions, policy: Policy) -> MergedFile | None:
    """Merges YAML or JSON that is one list by its elements (L3); None of another file."""
    original, upstream, local = sides
    if original is None or upstream is None or local is None or not is_yaml(path):
        return None
    if (texts := _texts(original, upstream, local)) is None:
        return None
    fields = FieldMerge(any_object_schema(), policy, file=path)
    merged = merge_embedded((), (texts.original, texts.upstream, texts.local), fields.decide, Secrecy())
    if merged is None:
        return None
    text, decisions = merged
    conflicts = [decision for decision in decisions if decision.is_conflict]
    file = File(texts.written(text), merged_mode(original, upstream, local))
    if not conflicts:
        return _decide(path, sides, file, "R4", "merged with upstream's by its elements")
    message = "; ".join(dict.fromkeys(decision.message for decision in conflicts))
    return _decide(path, sides, file, "R4", message, "both", policy.severity(()))


def _with_separators(original: bytes, upstream: bytes, local: bytes, merged: bytes) -> bytes:
    """The merge of a file by lines, where only separators make it another than that of its document (law H)."""
    if b"---" not in upstream:
        return merged

    def bare(text: str) -> list[str]:
        return [line for line in text.split("\n") if line != "---"]

    before, theirs, ours, text = (data.decode() for data in (original, upstream, local, merged))
    by_lines = merge_lines(before, theirs, ours)
    return merged if by_lines is None or bare(by_lines) != bare(text) else by_lines.encode()


def _member(path: str, file: File | None) -> Member | None:
    root = None if file is None or file.mode == "link" else mapping_in(file.data)
    return None if root is None else Member(path, NO_RESOURCE, root, path)


def merge_other_file(
    path: str, original: File | None, upstream: File | None, local: File | None, policy: Policy
) -> MergedFile:
    """Merges a file: YAML and JSON by fields, other text by lines (R4), all else as a whole (V2, V4); F5 for the rest.

    By fields, the text of the result is the merge by lines wherever that means the same.
    """
    policy = policy.of(NO_RESOURCE)
    sides = (original, upstream, local)
    if policy.resolutions.all and (resolved := _by_resolution(path, sides, policy)) is not None:
        return resolved
    if upstream in (original, local):
        return MergedFile(local)
    if local == original:
        what = "added" if local is None else "deleted" if upstream is None else "changed"
        return _decide(path, sides, upstream, "R4", f"{what}, as in upstream")
    if (by_fields := merge_values(path, original, upstream, local, policy)) is not None:
        return by_fields
    if (by_elements := _merge_list(path, sides, policy)) is not None:
        return by_elements
    severity = policy.severity(())
    if upstream is None or local is None:
        who = "upstream removed it, local changed it" if upstream is None else "local removed it, upstream changed it"
        if policy.delete(()) == "upstream":
            file, outcome = upstream, "the removal is kept" if upstream is None else "upstream's is added again"
        else:
            file, outcome = local, "local's is kept" if upstream is None else "it remains removed"
        explanation = policy.explanation((), who, outcome, of_existence=True)
        return _decide(path, sides, file, "F5", explanation, "both", policy.severity((), of_existence=True))
    text = _text(original, upstream, local, policy)
    # R4: where a list took the place of a map, lines of both are no file that anybody can read.
    if text is None or (text.merged.conflicts and _loses_yaml(path, sides, text.data)):
        what, outcome = "both sides changed it, and it cannot be merged by lines", f"{_winner(policy)}'s is kept"
        file = upstream if policy.conflict(()) == "upstream" else local
        explanation = policy.explanation(
            (), what, outcome, has_place=not any(b"\0" in side.data for side in (upstream, local))
        )
        return _decide(path, sides, file, "R4", explanation, "both", severity)
    merged = File(text.data, merged_mode(original, upstream, local))
    if not text.merged.conflicts:
        return _decide(path, sides, merged, "R4", "merged with upstream's by lines")
    # What is refused leaves the file alone.
    if severity == "error":
        merged = local
    did, outcome = text.merged.explanation(_winner(policy))
    what = f"both sides {did}" if original is not None else "both sides added it, with other lines"
    explanation = policy.explanation((), what, outcome)
    return _decide(path, sides, merged, "R4", explanation, "both", severity)


def _loses_yaml(path: str, sides: FileVersions, data: bytes) -> bool:
    """Whether all versions of a file are YAML and what was made of them is not."""
    versions = [side.data for side in sides if side is not None]
    return is_yaml(path) and documents_in(data) is None and None not in map(documents_in, versions)


def _decide(
    path: str,
    sides: FileVersions,
    merged: File | None,
    rule: str,
    message: str,
    side: Side = "upstream",
    severity: Severity = "info",
    resolution: Resolution | None = None,
) -> MergedFile:
    """The merged file and its decision; no decision where local already has all of upstream's changes."""
    if side == "upstream" and merged == sides[2]:
        return MergedFile(merged)
    before, theirs, ours, after = (None if file is None else file.data for file in (*sides, merged))
    decision = FileDecision(path, rule, message, side, severity, before, theirs, ours, after, resolution)
    return MergedFile(merged, (decision,))


# ---- choices ---------------------------------------------------------------------------------------------------------


def _by_resolution(path: str, sides: FileVersions, policy: Policy) -> MergedFile | None:
    """The file as somebody chose it, where both sides are as they were then."""
    original, upstream, local = sides
    secret = any(file is not None and is_secret_file(file.data) for file in sides)
    for resolution in policy.resolutions_at(()):
        if resolution.nature != "file":
            continue
        if secret:
            fit = _fit_of_secret(path, sides, resolution)
        else:
            fit = resolution.fit("", *(file_content(None if file is None else file.data) for file in sides))
        for merged in _files_of_choice(path, original, upstream, local, resolution.choice) if fit else ():
            if fit == "exact" or merged == local:
                message = f"both sides changed it; settled by {resolution.place}: {resolution.choice}"
                rule = "F5" if upstream is None or local is None else "R4"
                return _decide(path, sides, merged, rule, message, "both", "info", resolution)
    return None


def _fit_of_secret(path: str, sides: FileVersions, resolution: Resolution) -> Fit:
    """M6: the choice is for this place, as long as there is a conflict."""
    original, upstream, local = sides
    is_for_place = resolution.fingerprint == fingerprint("file", path, (), None)
    is_conflict = upstream not in (original, local) and local != original
    return "exact" if is_for_place and is_conflict and resolution.choice in ("upstream", "local") else ""


def _files_of_choice(
    path: str, original: File | None, upstream: File | None, local: File | None, choice: Choice
) -> Iterator[File | None]:
    """The file under a choice; nothing where the choice does not fit this file."""
    if choice == "higher" or choice == "original" or choice == "value" or choice == "recognise":
        return
    if upstream is not None and local is not None and original is not None:
        texts = _texts(original, upstream, local)
        text = None if texts is None else choose_text(texts.original, texts.upstream, texts.local, choice)
        if texts is not None and text is not None:
            yield File(texts.written(text), merged_mode(original, upstream, local))
            return
    if choice in ("upstream", "local"):
        yield upstream if choice == "upstream" else local


# ---- lines -----------------------------------------------------------------------------------------------------------


class _Texts(NamedTuple):
    """Three texts without the line break at their ends, and how the merged one is written.

    Whether the last line has one is a value of its own: as a part of the line, it would be in the way of changes beside
    it (W5).
    """

    original: str
    upstream: str
    local: str
    encoding: str
    is_ended: bool

    def written(self, text: str) -> bytes:
        """A text made of the three as the bytes of a file."""
        return (f"{text}\n" if text and self.is_ended else text).encode(self.encoding)


class _Text(NamedTuple):
    data: bytes
    merged: MergedText


def _texts(original: File | None, upstream: File, local: File) -> _Texts | None:
    """The three texts; None where the file is one value."""
    sides = [original, upstream, local]
    if any(side is not None and (side.mode == "link" or b"\0" in side.data) for side in sides):
        return None
    # Any bytes are characters of Latin-1, and only line ends matter where a text is not UTF-8.
    for encoding in ("utf-8", "latin-1"):
        try:
            before, theirs, ours = ("" if side is None else side.data.decode(encoding) for side in sides)
        except UnicodeDecodeError:
            continue
        was_ended, *are_ended = (text[-1:] in ("", "\n") for text in (before, theirs, ours))
        is_ended = are_ended[0] if are_ended[1] == was_ended else are_ended[1]  # V2
        before, theirs, ours = (text.removesuffix("\n") for text in (before, theirs, ours))
        return _Texts(before, theirs, ours, encoding, is_ended)
    return None


def _text(original: File | None, upstream: File, local: File, policy: Policy) -> _Text | None:
    """The merged lines; None where the file is one value."""
    if (texts := _texts(original, upstream, local)) is None:
        return None
    before, theirs, ours = texts[:3]
    winner = _winner(policy)
    merged: MergedText | None
    if ours == before:
        merged = MergedText(theirs)
    elif theirs in (before, ours):
        merged = MergedText(ours)
    else:
        merged = merge_whole_text(before, theirs, ours, winner)
    return None if merged is None else _Text(texts.written(merged.text), merged)


def _winner(policy: Policy) -> Literal["upstream", "local"]:
    return "upstream" if policy.conflict(()) == "upstream" else "local"
