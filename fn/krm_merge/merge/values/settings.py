"""Three-way merge of properties, env and INI texts by their keys, each within its section (rule V6)."""

from __future__ import annotations

from collections.abc import Sequence

from krm_merge.merge.lines.sequence import Clash, Settling, merge_sequences
from krm_merge.merge.lines.three_way import Form, MergedText, Winner
from krm_merge.merge.values.order import merge_order
from krm_merge.startup import frozen, pattern

_SECTION = pattern(r"\s*\[([^\[\]]+)\]\s*\Z")
_SETTING = pattern(r"\s*(?:export\s+)?([^\s=#;!\[\]][^\s=]*)\s*=(?!=)")
_COMMENT = pattern(r"\s*(?:[#;!]|\Z)")


@frozen
class _Line:
    """A line that sets a key or begins a section, with the comments and blank lines above it."""

    text: str
    head: tuple[str, ...]


@frozen
class SettingLines:
    """A text of settings: by section, its lines by key, that of the section itself by ''. The first section is ''.

    `foot` are the comments and blank lines at the end.
    """

    sections: dict[str, dict[str, _Line]]
    foot: tuple[str, ...]

    def of(self, section: str) -> dict[str, _Line]:
        """The lines of a section; none where it is missing."""
        return self.sections.get(section, {})


_NOTHING = _Line("", ())


def read_settings(lines: Sequence[str]) -> SettingLines | None:
    """The settings in a text; None where a line is anything else, or a key or a section is repeated."""
    sections: dict[str, dict[str, _Line]] = {"": {}}
    section = sections[""]
    head: list[str] = []
    for line in lines:
        if _COMMENT.match(line):
            head.append(line)
            continue
        begun, setting = _SECTION.match(line), _SETTING.match(line)
        if line.rstrip().endswith("\\") or (begun is None and setting is None):
            return None
        if begun is not None:
            if begun[1] in sections:
                return None
            section = sections[begun[1]] = {}
        key = "" if setting is None or begun is not None else setting[1]
        if key in section:
            return None
        section[key] = _Line(line, tuple(head))
        head = []
    return SettingLines(sections, tuple(head)) if any(sections.values()) else None


def merge_settings(
    original: SettingLines, upstream: SettingLines, local: SettingLines, winner: Winner, form: Form
) -> MergedText:
    """Merges settings; where both changed, added or removed one differently, the winner has its way."""
    clashes: list[Clash] = []
    sides = (original, upstream, local)
    by_section: dict[str, dict[str, _Line]] = {}
    for section in dict.fromkeys([*local.sections, *upstream.sections]):
        before, theirs, ours = (side.of(section) for side in sides)
        merged = {
            key: line
            for key in dict.fromkeys([*ours, *theirs])
            if (line := _merge_setting(before.get(key), theirs.get(key), ours.get(key), winner, clashes)) is not None
        }
        if section and merged and "" not in merged:
            # Local or upstream removed the section, and the other has something new in it.
            merged[""] = ours.get("") or theirs[""]
        keys = merge_order(list(before), list(theirs), list(ours), set(merged), reorder=False).keys
        by_section[section] = {key: merged[key] for key in sorted(keys, key=bool)}
    names = [[name for name in side.sections if by_section.get(name)] for side in sides]
    order = merge_order(names[0], names[1], names[2], {*names[1], *names[2]}, reorder=False).keys
    lines = [
        line
        for name in order
        for setting_line in by_section[name].values()
        for line in (*setting_line.head, setting_line.text)
    ]
    lines += _merged_comments(original.foot, upstream.foot, local.foot)
    return MergedText(form.join(lines), clashes.count("changed"), 0, clashes.count("alike"))


def _merge_setting(
    original: _Line | None, upstream: _Line | None, local: _Line | None, winner: Winner, clashes: list[Clash]
) -> _Line | None:
    """The line of one key."""
    before, theirs, ours = (None if line is None else line.text for line in (original, upstream, local))
    if theirs in (before, ours):
        settings = local
    elif ours == before:
        settings = upstream
    else:
        clashes.append("changed" if original is not None else "alike")
        settings = upstream if winner == "upstream" else local
    if settings is None:
        return None
    if upstream is None or local is None:
        return settings
    return _Line(settings.text, _merged_comments((original or _NOTHING).head, upstream.head, local.head))


def _merged_comments(original: Sequence[str], upstream: Sequence[str], local: Sequence[str]) -> tuple[str, ...]:
    """Comments and blank lines; where both changed the same ones, local's are kept (V8)."""
    runs = merge_sequences(original, upstream, local, Settling("local", loose=True))
    return tuple(line for run in runs for line in (upstream if run.side == "upstream" else local)[run.start : run.stop])
