"""Records, made by reading the decisions of a merge, and the YAML around their places."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import accumulate
from posixpath import join
from typing import Any, NamedTuple

from krm_merge.krm import (
    NO_RESOURCE,
    FieldPath,
    Identity,
    ResourceRef,
    format_path,
    generate_name_of,
    identity_of,
    parse_path,
)
from krm_merge.merge import (
    Choice,
    Content,
    Decision,
    FileDecision,
    Nature,
    NotIdentified,
    PackageDecisions,
    Policy,
    Resolution,
    ResourceOutcome,
    Rule,
    Sides,
    content_of,
    file_content,
    fingerprint,
    higher_version,
    in_document_order,
    match_functions,
    node_at,
    renamed_from,
    resource_content,
    sentence_of,
)
from krm_merge.report.record import SIDES, VERSIONS, Context, DecisionRecord, SideName, Status
from krm_merge.report.words import anchor_of
from krm_merge.safe_text import REDACTED, without_credentials
from krm_merge.schema import Secrecy, is_secret_file, is_telling
from krm_merge.text import (
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    Source,
    TextError,
    Value,
    read_all,
    to_value,
)

_LONGEST_FILE = 100_000
"""Bytes of a file that a record holds; of a longer one it has size and hash."""

_ADDED = "added, as in upstream"
_DELETED = "deleted, as in upstream"


def records_of(decided: Iterable[PackageDecisions], policy: Policy, *, left_open: bool = False) -> list[DecisionRecord]:
    """A record for every decision, those on a resource in the order of its document.

    `policy` is the one that was merged under. `left_open` says that conflicts which neither a rule nor a choice settles
    are left in the files, between markers.
    """
    reader = _Reader(policy, left_open)
    return [record for part in decided for record in reader.records(part)]


def values_at(decided: PackageDecisions, path: str, nature: Nature) -> dict[SideName, Value]:
    """What the sides have at the place of a record, and what is merged: hidden values, too.

    Nothing may keep them: they are for somebody who asks for just this place.
    """
    for outcome in decided.outcomes:
        for decision in _decisions(outcome):
            if format_path(decision.path) == path and decision.nature == nature:
                sides = _sides(decision, outcome)
                return {name: to_value(node) for name, node in sides.items() if node is not None}
    for of_file in decided.files:
        data = _values(of_file)
        return {name: _file_value(content) for name, content in data.items() if content is not None}
    return {}


class _Place(NamedTuple):
    """Where a decision is, and the sentence about it."""

    file: str
    resource: ResourceRef | None
    path: str
    sentence: str
    renamed_from: str = ""


class _Reader:
    def __init__(self, policy: Policy, left_open: bool) -> None:
        self._policy = policy
        self._left_open = left_open
        self._seen: Counter[tuple[str, ...]] = Counter()

    def records(self, decided: PackageDecisions) -> Iterator[DecisionRecord]:
        for outcome in decided.outcomes:
            file = join(decided.folder, outcome.member.place)
            policy = self._policy.of(*(m.identity for m in outcome.members.values()))
            secrecy = Secrecy(outcome.roots)
            for decision in _decisions(outcome):
                yield self._of_resource(decision, outcome, file, policy, secrecy)
        for of_file in decided.files:
            yield self._of_file(of_file, join(decided.folder, of_file.path))

    def _of_resource(
        self, decision: Decision, outcome: ResourceOutcome, file: str, policy: Policy, secrecy: Secrecy
    ) -> DecisionRecord:
        subject, sides = outcome.member, _sides(decision, outcome)
        lost = decision.discarded_comments
        comments = None if lost is None else "\n".join(lost.lines)
        secret = secrecy.hides(decision.path, [*(sides[side] for side in VERSIONS), comments])
        contents: dict[SideName, Content] = {name: content_of(node) for name, node in sides.items()}
        compared = [contents[side] for side in VERSIONS]
        if decision.nature == "resource":
            members = (outcome.original, outcome.upstream, outcome.local)
            compared = [resource_content(None if member is None else member.root) for member in members]
        key = fingerprint(
            decision.nature,
            subject.identity.kind or (subject.place if secret else ""),
            secrecy.place(decision.path, sides.values()) if secret else decision.path,
            None if secret else compared,
        )
        of_existence = decision.rule == "F5"
        rule = policy.rule_on_delete(decision.path) if of_existence else policy.rule_on_conflict(decision.path)
        choices = partial(_choices, decision, sides, secret, file)
        resource = resource_ref(subject.identity, subject.root)
        sentence = sentence_of(decision, outcome, resource, secret=secret)
        place = _Place(file, resource, format_path(decision.path), sentence, renamed_from(outcome, resource))
        return self._record(decision, place, rule, contents, choices, key, secret)

    def _of_file(self, decision: FileDecision, file: str) -> DecisionRecord:
        data: dict[SideName, bytes | None] = _values(decision)
        secret = any(content is not None and is_secret_file(content) for content in data.values())
        contents: dict[SideName, Content] = {
            name: [] if content is None else [_file_value(content)] for name, content in data.items()
        }
        compared = [file_content(data[side]) for side in VERSIONS]
        key = fingerprint(decision.nature, decision.path if secret else "", (), None if secret else compared)
        rule = self._policy.of(NO_RESOURCE).rule_on_conflict(())
        choices = partial(_choices_of_file, decision, data, secret)
        return self._record(decision, _Place(file, None, "", decision.message), rule, contents, choices, key, secret)

    def _record(
        self,
        decision: Decision | FileDecision,
        place: _Place,
        rule: Rule | None,
        contents: dict[SideName, Content],
        choices_for: Callable[[], tuple[Choice, ...]],
        key: str,
        secret: bool,
    ) -> DecisionRecord:
        status, settled_by = self._status(decision, rule)
        if status == "open" and self._left_open and decision.severity != "error":
            # Both ways are in the file, between markers.
            del contents["result"]
        choices = choices_for() if status != "automatic" else ()
        return DecisionRecord(
            id=self._id(place.file, str(place.resource or ""), place.path, decision.nature),
            file=place.file,
            resource=place.resource,
            path=place.path,
            rule=decision.rule,
            nature=decision.nature,
            status=status,
            settled_by=settled_by,
            message=without_credentials(place.sentence),
            values={} if secret else {name: shown_value(content[0]) for name, content in contents.items() if content},
            choices=choices,
            chosen=_choice_of(decision.resolution, status, contents, choices),
            fingerprint=key,
            docs=anchor_of(decision.rule),
            alike=_alike(contents) if secret else None,
            renamed_from=place.renamed_from,
        )

    def _status(self, decision: Decision | FileDecision, rule: Rule | None) -> tuple[Status, str]:
        if decision.resolution is not None:
            return "settled", f"resolution {decision.resolution.place}".strip()
        if decision.severity == "error":
            return "open", ""
        # That only one order of two can be kept is no warning, but both sides wanted something.
        if not (decision.is_conflict or (decision.rule == "L4" and decision.side == "both")):
            return "automatic", ""
        if rule is not None:
            return "settled", f"rule {rule.place}".strip()
        return ("open", "") if self._left_open else ("settled", "policy")

    def _id(self, *about: str) -> str:
        self._seen[about] += 1
        return sha256(json.dumps([*about, self._seen[about]]).encode()).hexdigest()[:12]


def _decisions(outcome: ResourceOutcome) -> Iterator[Decision]:
    """The decisions on a resource; that it comes or goes as a whole is one."""
    yield from in_document_order(outcome.decisions, outcome.member.root)
    if not outcome.decisions and outcome.fate in ("added", "deleted"):
        yield Decision("R2", (), _ADDED if outcome.fate == "added" else _DELETED, "upstream")


def _sides(decision: Decision, outcome: ResourceOutcome) -> dict[SideName, Node | None]:
    """What each side has at the place of a decision, and what the result has."""
    if not decision.path and decision.nature == "resource":
        survivor = {"added": outcome.upstream, "deleted": None}.get(outcome.fate, outcome.local)
        members = zip(SIDES, (outcome.original, outcome.upstream, outcome.local, survivor), strict=True)
        return {name: None if member is None else member.root for name, member in members}
    return _values(decision)


def _values(decision: Decision | FileDecision) -> dict[SideName, Any]:
    """What each side and the result have: nodes, or of a file its bytes."""
    return {
        "original": decision.original,
        "upstream": decision.upstream,
        "local": decision.local,
        "result": decision.local if decision.severity == "error" else decision.merged,
    }


def resource_ref(identity: Identity, root: MappingNode) -> ResourceRef | None:
    """How reports name an object, by its `generateName` where it has no name; None where it is no resource."""
    if not identity.kind:
        return None
    node = root.get("apiVersion")
    version = node.text if isinstance(node, Scalar) else ""
    return ResourceRef(version, identity.kind, identity.name or generate_name_of(root), identity.namespace)


def _choices(decision: Decision, sides: Mapping[SideName, Node | None], secret: bool, file: str) -> tuple[Choice, ...]:
    """What may be chosen for a conflict (M2)."""
    nature = decision.nature
    if decision.side != "both" or (nature == "resource" and decision.rule != "F5"):
        return ()
    both: tuple[Choice, ...] = ("upstream", "local")
    if secret or nature in ("order", "element", "resource", "alternative"):
        return both
    if higher_version(file, decision.path, Sides(*(sides[name] for name in VERSIONS))) is not None:
        both = ("higher", *both)
    in_turn: tuple[Choice, ...] = ("upstream-then-local", "local-then-upstream")
    if nature == "sequence":
        return (
            (*both, *in_turn) if all(isinstance(sides[name], SequenceNode) for name in ("upstream", "local")) else both
        )
    if sides["original"] is not None:
        both = (*both, "original")
    if nature == "text":
        both = (*both, *in_turn)
    return (*both, "value", "recognise") if nature == "functions" and _are_recognised(sides) else (*both, "value")


def _are_recognised(sides: Mapping[SideName, Node | None]) -> bool:
    """Whether `functionIdentity: smart` would tell the functions of all sides apart."""
    lists = (sides[name] for name in VERSIONS)
    items = [node.items if isinstance(node, SequenceNode) else [] for node in lists]
    return not isinstance(match_functions(items[0], items[1], items[2], smart=True), NotIdentified)


def _choices_of_file(decision: FileDecision, data: Mapping[SideName, bytes | None], secret: bool) -> tuple[Choice, ...]:
    if decision.choices:
        return decision.choices
    if secret or any((side := data[name]) is None or b"\0" in side for name in VERSIONS):
        return "upstream", "local"
    return "upstream", "local", "upstream-then-local", "local-then-upstream"


def _choice_of(
    resolution: Resolution | None, status: Status, contents: Mapping[SideName, Content], choices: Sequence[Choice]
) -> Choice | None:
    """What was chosen, by whatever settled it."""
    if resolution is not None:
        return resolution.choice
    if status != "settled":
        return None
    for side in ("upstream", "local"):
        if side in choices and contents.get("result") == contents[side]:
            return side
    return None


def _alike(contents: Mapping[SideName, Content]) -> dict[SideName, str]:
    """A letter for each side that has something; sides with the same letter are equal."""
    letters: dict[str, str] = {}
    letters_by_side: dict[SideName, str] = {}
    for side, content in contents.items():
        if content:
            letters_by_side[side] = letters.setdefault(json.dumps(content, sort_keys=True), "ABCD"[len(letters)])
    return letters_by_side


def shown_value(value: Value) -> Value:
    """A value as others may read it: without the credentials in its URLs."""
    if isinstance(value, str):
        return without_credentials(value)
    if isinstance(value, dict):
        return {name: shown_value(inner) for name, inner in value.items()}
    return [shown_value(inner) for inner in value] if isinstance(value, list) else value


def _file_value(data: bytes) -> Value:
    """A file as a value: its text, of other and long files size and hash."""
    if len(data) <= _LONGEST_FILE and b"\0" not in data:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            pass
    return {"bytes": len(data), "sha256": sha256(data).hexdigest()}


AROUND = 3
"""Lines before and behind the place."""

_MOST_LINES = 12


def contexts_of(
    records: Iterable[DecisionRecord],
    content: Callable[[str], bytes | None],
) -> dict[str, Context]:
    """The context of each record that has one, by its id. `content` gives a file, None where there is none.

    No hidden value is among them (M6).
    """
    documents: dict[str, list[_Document]] = {}
    contexts: dict[str, Context] = {}
    for record in records:
        if not record.path or record.is_redacted:
            continue
        if record.file not in documents:
            documents[record.file] = _documents(content(record.file))
        for document in documents[record.file]:
            context = document.around(parse_path(record.path)) if document.is_of(record) else None
            if context is not None:
                contexts[record.id] = context
                break
    return contexts


class _Document:
    """One document of a file."""

    def __init__(self, root: MappingNode, source: Source) -> None:
        self._root = root
        self._source = source
        self._subject = identity_of(root)
        secrecy = Secrecy((root,))
        self._is_secret = secrecy.is_whole
        self._starts = list(accumulate((len(line) + 1 for line in source.text.split("\n")), initial=0))
        hidden = () if self._is_secret else secrecy.values()
        self._lines = _without(source.text, (node for node in hidden if node.source is source)).split("\n")

    def is_of(self, record: DecisionRecord) -> bool:
        """Whether the record may be about it, and it may be shown."""
        subject, resource = self._subject, record.resource
        if self._is_secret or resource is None:
            return not self._is_secret
        return (subject.kind, subject.namespace, subject.name) == (resource.kind, resource.namespace, resource.name)

    def around(self, path: FieldPath) -> Context | None:
        """The lines around a place; None where it is not in this text."""
        node = node_at(self._root, path)
        if node is None or node.source is not self._source:
            return None
        # A block ends behind its last line break.
        end = node.start + len(self._source.text[node.start : node.end].rstrip())
        first, last = self._line(node.start), self._line(end)
        top, bottom = self._line(self._root.start), self._line(max(self._root.start, self._root.end - 1))
        before, last = max(top, first - AROUND), min(last, first + _MOST_LINES)
        context_lines = self._lines[before : min(bottom, last + AROUND) + 1]
        return Context(
            tuple(_shown_line(line.rstrip("\r")) for line in context_lines), first - before, last - before + 1
        )

    def _line(self, position: int) -> int:
        return bisect_right(self._starts, position) - 1


def _shown_line(line: str) -> str:
    """A line of YAML without the values of comments and addresses that are hidden."""
    code, mark, comment = line.partition("#")
    return without_credentials(f"{code}{mark} {REDACTED}" if is_telling(comment) else line)


def _without(text: str, hidden: Iterable[Node]) -> str:
    """A text without the values of these nodes and what is behind them on their last lines; all lines are kept."""
    parts, done = [], 0
    for node in sorted(hidden, key=lambda node: node.start):
        if node.start >= done:
            end = node.start + len(text[node.start : node.end].rstrip())
            breaks = text.count("\n", node.start, end)
            parts += [text[done : node.start], REDACTED, "\n" * breaks]
            done = end if (line_end := text.find("\n", end)) < 0 else line_end
    return "".join([*parts, text[done:]])


def _documents(data: bytes | None) -> list[_Document]:
    try:
        roots = list(read_all((data or b"").decode()))
    except (UnicodeDecodeError, TextError):
        return []
    return [_Document(root, root.source) for root in roots if isinstance(root, MappingNode) and root.source is not None]
