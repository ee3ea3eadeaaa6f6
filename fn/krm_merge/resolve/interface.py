"""The interface of all sessions: how records are looked for, what they offer (M2), and the words for people."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Generic

from krm_merge.errors import KrmMergeError
from krm_merge.krm import ANY, KPTFILE, Results, format_path, parse_path
from krm_merge.merge import Choice, Nature, Resolution
from krm_merge.packages import Changes
from krm_merge.report import VERSIONS, Context, DecisionRecord, MergeReport, SideName, shorten
from krm_merge.resolve.choices import Step
from krm_merge.safe_text import line
from krm_merge.startup import replace
from krm_merge.text import TextError, Value, read, to_value
from krm_merge.usecases import LineCommit


@dataclass(frozen=True, slots=True)
class SideLabels:
    """What people call the three sides; `who` is how a sentence speaks of those who changed something."""

    original: str = "Original"
    upstream: str = "Upstream"
    local: str = "Yours"
    upstream_who: str = "upstream"
    local_who: str = "you"


OF_PACKAGES: Final = SideLabels()
OF_FLEET: Final = SideLabels(local="Local", local_who="the packages")
OF_GIT: Final = SideLabels("Base", "Theirs", "Ours", "their side", "our side")


_THINGS: Final[dict[Nature, str]] = {
    "text": "text",
    "element": "element",
    "resource": "resource",
    "file": "file",
    "sequence": "part of the list",
}

_BOTH: Final[dict[Nature, str]] = {
    "value": "{u} and {l} changed the same value",
    "kind": "{u} and {l} made different kinds of value of it",
    "text": "{u} and {l} changed the same lines of this text",
    "order": "{u} and {l} put this list into different orders",
    "sequence": "{u} and {l} changed the same part of this list",
    "element": "{u} and {l} changed the same element",
    "resource": "{u} and {l} changed the same resource",
    "alternative": "{u} and {l} have alternatives of which only one is allowed",
    "functions": "{u} and {l} changed these functions, which cannot be told apart, so the list is one value",
    "file": "{u} and {l} changed the same lines of this file",
    "added-twice": "{u} and {l} added this with different values",
    "comment": "{u} and {l} changed the same comment",
}


def thing_of(record: DecisionRecord) -> str:
    """What a conflict is about, as a sentence names it."""
    return _THINGS.get(record.nature, "value")


def what_happened(record: DecisionRecord, labels: SideLabels) -> str:
    """What both sides did, in one sentence."""
    has = _sides(record)
    thing = thing_of(record)
    upstream, local = labels.upstream_who, labels.local_who
    if record.nature == "reference" and record.status != "automatic":
        # A side that has the reference has what it names (law I). The sentence begins with the name of a field.
        who = upstream if "upstream" not in has else local if "local" not in has else "a side"
        return f"{record.values.get('original', 'a reference')}, which {who} removed or changed."
    if record.status == "automatic":
        text = _automatic(record, upstream, local)
    elif deleted := deleting_side(record):
        who, other = (upstream, local) if deleted == "upstream" else (local, upstream)
        text = f"{who} deleted this {thing}, and {other} changed it"
    else:
        text = _BOTH[record.nature].format(u=upstream, l=local)
    if record.renamed_from and record.status != "automatic":
        text += f"; renamed from {record.renamed_from}"
    return f"{text[:1].upper()}{text[1:]}."


def _automatic(record: DecisionRecord, upstream: str, local: str) -> str:
    """What upstream did alone."""
    if record.nature == "resource" and record.rule == "R2":
        left = f", and {local} left it as it was" if "upstream" not in _sides(record) else ""
        return f"{upstream} {'deleted' if left else 'added'} this resource{left}"
    if record.message not in ("added", "changed", "removed"):
        return record.message
    left = f", and {local} left it as it was" if record.message != "added" else ""
    return f"{upstream} {record.message} this{left}"


def choice_words(record: DecisionRecord, choice: Choice, labels: SideLabels) -> str:
    """A choice, as a button names it."""
    if record.nature == "reference":
        return "Accept that it is gone"
    has = _sides(record)
    upstream, local = labels.upstream.lower(), labels.local.lower()
    words: dict[Choice, str] = {
        "higher": "Take the higher version",
        "upstream": f"Take {upstream}" if "upstream" in has else "Delete it",
        "local": f"Keep {local}" if "local" in has else "Leave it deleted" if "original" in has else "Leave it out",
        "original": f"Take {labels.original.lower()}",
        "upstream-then-local": f"Both, {upstream} first",
        "local-then-upstream": f"Both, {local} first",
        "value": "Edit",
        "recognise": "Recognise the functions",
    }
    return words[choice]


def choice_words_for_all(records: Sequence[DecisionRecord], labels: SideLabels) -> dict[Choice, str]:
    """The choices that all records have and that need no value, as buttons name them; `{n}` is how many there are."""
    names: dict[Choice, str] = {}
    for choice in records[0].choices if records else ():
        if choice != "value" and all(choice in record.choices for record in records):
            of_records = {choice_words(record, choice, labels) for record in records}
            side = getattr(labels, choice, "both").lower()
            name = of_records.pop() if len(of_records) == 1 else f"{'Keep' if choice == 'local' else 'Take'} {side}"
            names[choice] = f"{name.removesuffix(' it')}{' ' if name.endswith(' it') else ' for '}all {{n}}"
    return names


_LONGEST_NAME: Final = 40
_LONGEST_SUBJECT: Final = 100
_DAY: Final = 24 * 60 * 60
_AGES: Final = ((365 * _DAY, "year"), (30 * _DAY, "month"), (7 * _DAY, "week"), (_DAY, "day"), (3600, "hour"))


def change_words(commit: LineCommit, labels: SideLabels, now: float | None = None) -> str:
    """Who made local's value, when and why, on a line; how long before `now`, or else on which day.

    The text is that of a stranger: what would control a terminal is escaped.
    """
    when = datetime.fromtimestamp(commit.time, UTC).date().isoformat() if now is None else _age(now - commit.time)
    whose = "Your" if labels.local_who == "you" else f"{labels.local_who[:1].upper()}{labels.local_who[1:]}'s"
    author, subject = shorten(commit.author or "somebody", _LONGEST_NAME), shorten(commit.subject, _LONGEST_SUBJECT)
    return line(f"{whose} change: {when}, {author}, '{subject}'")


def _age(seconds: float) -> str:
    for length, unit in _AGES:
        if (count := int(seconds // length)) > 0:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "less than an hour ago"


# ---- what people look for --------------------------------------------------------------------------------------------


_OF_WORDS: Final = ("file", "kind", "name", "namespace", "field", "value", "nature", "rule")
"""The facets in which a word without a facet is looked for."""
_WHOLE: Final = ("rule", "is", "deleted-by", "same", "folder")
"""The facets of which a part says nothing."""
_FACETS: Final = frozenset((*_OF_WORDS, *_WHOLE, "any-field"))
_PART: Final = re.compile(r'(?:"[^"]*"?|[^\s"])+')
_SHORT: Final = 12
"""Digits of a fingerprint; its end has the values of all sides in it."""


class Finder:
    """Finds records by what people type; remembers what it read of them."""

    def __init__(self) -> None:
        """Knows no record yet."""
        self._facets: dict[str, tuple[DecisionRecord, dict[str, str]]] = {}

    def find(self, records: Iterable[DecisionRecord], query: str) -> list[DecisionRecord]:
        """The conflicts that have every word of a query: `nginx kind:Deployment field=spec.replicas "two words"`.

        `FACET:TEXT` looks for a text in a facet, `FACET=TEXT` for a facet that is this text; case does not matter.
        """
        terms = [_term(word.lower()) for word in _words(query)]
        conflicts = (record for record in records if record.status != "automatic")
        return [record for record in conflicts if all(_has(self.facets(record), *term) for term in terms)]

    def facets(self, record: DecisionRecord) -> dict[str, str]:
        """What a record can be found by, in lower case."""
        remembered = self._facets.get(record.id)
        if remembered is None or remembered[0] is not record:
            facets = {name: text.lower() for name, text in _facets_of(record).items()}
            # While somebody types, thousands of records are looked through for each letter: one text is faster.
            facets[""] = "\0".join(facets[name] for name in _OF_WORDS)
            remembered = self._facets[record.id] = record, facets
        return remembered[1]


def _facets_of(record: DecisionRecord) -> dict[str, str]:
    resource = record.resource
    return {
        "file": record.file,
        "kind": resource.kind if resource else "",
        "name": resource.name if resource else "",
        "namespace": resource.namespace if resource else "",
        # Quotes are those of the query.
        "field": record.path.replace('"', ""),
        "value": "\n".join(_plain_text(record.values[side]) for side in VERSIONS if side in record.values),
        "nature": record.nature,
        "rule": record.rule,
        "any-field": general_path(record.path).replace('"', ""),
        "is": record.status,
        "deleted-by": deleting_side(record),
        "same": record.fingerprint[-_SHORT:],
    }


def _plain_text(value: Value) -> str:
    if isinstance(value, Mapping):
        return "\n".join(f"{name}: {_plain_text(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "\n".join(map(_plain_text, value))
    return value if isinstance(value, str) else json.dumps(value)


def _words(query: str) -> Iterator[str]:
    """The words of a query; those in quotes are one."""
    for part in _PART.findall(query):
        is_closed = part.count('"') % 2 == 0
        word = part.replace('"', "")
        if word := word if is_closed else word.strip():
            yield word


def _term(word: str) -> tuple[str, bool, str]:
    """The facet that a word is about, '' for any; whether it is all of that; and the text."""
    for at, character in enumerate(word):
        if character in ":=" and word[:at] in _FACETS:
            return word[:at], character == "=" or word[:at] in _WHOLE, word[at + 1 :]
    return "", False, word


def _has(facets: Mapping[str, str], facet: str, is_whole: bool, text: str) -> bool:
    if not is_whole:
        return text in facets[facet]
    if facet == "folder":
        return facets["file"].startswith(f"{text.rstrip('/')}/")
    return text in (facets[facet], facets["any-field"] if facet == "field" else None)


def general_path(path: str) -> str:
    """A path for which all elements of a list are the same: `spec.containers.*.image`."""
    if "[" not in path:
        return path
    return format_path(tuple(step if isinstance(step, str) else ANY for step in parse_path(path))).replace(
        '["*"]', "[*]"
    )


def deleting_side(record: DecisionRecord) -> str:
    """The side that deleted what the other one changed, '' where neither did."""
    has = _sides(record)
    gone = [side for side in ("upstream", "local") if side not in has]
    return gone[0] if len(gone) == 1 and "original" in has and record.nature != "reference" else ""


@dataclass(frozen=True, slots=True)
class ConflictScope:
    """Open conflicts that can be settled at once: what they have in common, and the query that finds them."""

    name: str
    query: str
    ids: tuple[str, ...]


def scopes_of(record: DecisionRecord, open_records: Sequence[DecisionRecord], finder: Finder) -> list[ConflictScope]:
    """What an open conflict can be settled together with, the nearest first; each has another set of conflicts."""
    deleted = deleting_side(record)
    field = general_path(record.path)
    queries = [("with the same values", f"same={record.fingerprint[-_SHORT:]}")] if not record.is_redacted else []
    if deleted:
        of_field = f" field={_quoted(field)}" if field else ""
        queries.append((f"deleted by {deleted}", f"deleted-by={deleted} nature={record.nature}{of_field}"))
    elif field:
        queries.append((f"of {field}", f"field={_quoted(field)} nature={record.nature}"))
    if record.resource is not None:
        about = record.resource
        of_kind = f"kind={_quoted(about.kind)}"
        namespace = f" namespace={_quoted(about.namespace)}" if about.namespace else ""
        queries.append((f"in {about}", f"{of_kind} name={_quoted(about.name)}{namespace} file={_quoted(record.file)}"))
        queries.append((f"of kind {about.kind}", of_kind))
    queries.append((f"in {record.file}", f"file={_quoted(record.file)}"))
    folder = record.file.rpartition("/")[0]
    while folder:
        queries.append((f"in {folder}/", f"folder={_quoted(folder)}"))
        folder = folder.rpartition("/")[0]
    queries.append(("that are open", "is:open"))
    scopes = [
        ConflictScope(name, query, tuple(match.id for match in finder.find(open_records, query)))
        for name, query in queries
    ]
    by_ids = {scope.ids: scope for scope in reversed(scopes) if len(scope.ids) > 1}
    return [scope for scope in scopes if by_ids.get(scope.ids) is scope]


def _quoted(text: str) -> str:
    text = text.replace('"', "")
    return f'"{text}"' if any(character.isspace() for character in text) else text


def bundles_of(records: Iterable[DecisionRecord]) -> list[tuple[DecisionRecord, ...]]:
    """The deletions that are alike: the same side deleted resources, or elements and values of the same field."""
    bundles: dict[tuple[str, str, str], list[DecisionRecord]] = {}
    for record in records:
        deleted = deleting_side(record)
        if deleted and record.status != "automatic" and record.choices:
            bundles.setdefault((record.nature, deleted, general_path(record.path)), []).append(record)
    return [tuple(bundle) for bundle in bundles.values() if len(bundle) > 1]


def bundle_words(bundle: Sequence[DecisionRecord], labels: SideLabels) -> str:
    """What is alike in deletions, as a heading."""
    noun = {"resource": "resources", "file": "files", "element": "elements"}.get(bundle[0].nature, "values")
    who, other = labels.upstream_who, labels.local_who
    if deleting_side(bundle[0]) == "local":
        who, other = other, who
    field = general_path(bundle[0].path)
    return f"{len(bundle):,} {noun}{f' of {field}' if field else ''} that {who} deleted and {other} changed"


def _sides(record: DecisionRecord) -> set[SideName]:
    return set(record.alike if record.alike is not None else record.values)


_OF_VALUES: Final = ("V2", "V6", "V10")
"""Rules by which values merge without a conflict."""

_OF_EXISTENCE: Final = ("V2", "F5")
"""Rules by which elements of lists come and go without a conflict."""


class RefusedChoiceError(KrmMergeError):
    """Why a choice cannot be made; says what can be done instead. Nothing was chosen."""


def selectable_records(records: Sequence[DecisionRecord]) -> Iterator[DecisionRecord]:
    """The records of one resource or file.

    What nobody can choose about is as the rules have it; a value that merged without a conflict can be overruled. What
    only says where an open conflict would lead to, if nobody settled it, is left out.
    """
    open_paths = [record.path for record in records if record.status == "open" and record.choices]
    for record in records:
        if record.status != "open" or record.choices:
            yield _with_choices(record)
        elif not any(path and record.path.startswith(path) for path in open_paths):
            yield replace(record, status="settled", settled_by="policy")


def place_name(record: DecisionRecord) -> str:
    """The place of a record, for a message."""
    return " ".join(part for part in (str(record.resource or record.file), record.path) if part)


def _with_choices(record: DecisionRecord) -> DecisionRecord:
    """What was merged without a conflict, with what can be chosen instead.

    That is a value that a side changed, a field, an element or a resource that upstream added or removed. A Kptfile is
    not among them: with it the whole package inside comes or goes.
    """
    if record.status != "automatic":
        return record
    is_value = record.rule in _OF_VALUES and record.nature in ("value", "text") and not record.is_redacted
    is_element = record.rule in _OF_EXISTENCE and record.nature == "element" and not record.is_redacted
    is_resource = record.rule == "R2" and record.resource is not None and record.resource.kind != KPTFILE
    if is_element or is_resource:
        return replace(record, choices=("upstream", "local"))
    return replace(record, choices=("upstream", "local", "value")) if is_value else record


def custom_value(text: Value, record: DecisionRecord) -> Value:
    """The value that is meant for the place of a record.

    A text is YAML, as it would be written there; where all sides are texts, it is one, too. Raises RefusedChoiceError.
    """
    sides = [record.values[side] for side in VERSIONS if side in record.values]
    value = text
    if isinstance(text, str):
        if _is_of_lines(text, sides):
            return text
        value = _read(text)
        if all(isinstance(side, str) for side in sides) and not isinstance(value, Mapping | list | str):
            # A version such as 1.10 is no number among texts.
            return text.strip()
    expected = {_kind(side) for side in sides if side is not None}
    if expected and value is not None and _kind(value) not in expected:
        hint = "; put it in quotes to make it a string" if "a string or number" in expected else ""
        raise RefusedChoiceError(f"this is {_kind(value)}, and {' or '.join(sorted(expected))} is expected here{hint}")
    return value


def _is_of_lines(text: str, sides: Sequence[Value]) -> bool:
    """Whether a text is meant as it is: it has lines, or those that it is for have."""
    texts = [side for side in sides if isinstance(side, str)]
    return len(texts) == len(sides) and ("\n" in text.strip() or any("\n" in text for text in texts))


def _read(text: str) -> Value:
    try:
        node = read(text)
    except (TextError, RecursionError) as error:
        why = str(error) if isinstance(error, TextError) else "not valid YAML: it is nested too deeply"
        raise RefusedChoiceError(f"{why}; put it in quotes to make it a string") from None
    if node is None and not text.strip():
        raise RefusedChoiceError("there is no value; write null or '' for an empty one")
    return to_value(node)


def _kind(value: Value) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list) else "a string or number"


NO_VALUE: Final = object()
"""The value of a choice that has none."""

NOT_ALWAYS: Final = (
    "this cannot be a rule: a rule chooses upstream or local, for a field whose path has no list positions"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a step changed: records that are new or other ones, and the ids of those that are gone."""

    records: Sequence[DecisionRecord]
    removed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Saved:
    """What saving writes: local's files, and all that was chosen; `results` are the messages."""

    changes: Changes
    choices: tuple[Resolution, ...]
    results: Results


class NotSettledError(KrmMergeError):
    """Why nothing can be saved yet."""


class ConflictSession(ABC, Generic[Step]):
    """A session in which somebody settles conflicts. `revision` grows with every step; `noun` is a thing to settle."""

    noun = "conflict"

    def __init__(self, steps: Iterable[Step]) -> None:
        """Begins with the `steps` of an earlier session."""
        self.revision = 0
        self._finder = Finder()
        self._steps = list(steps)
        self._undone: list[Step] = []

    @property
    @abstractmethod
    def policy_file(self) -> str:
        """The file that choices are written to, '' for none."""

    @property
    @abstractmethod
    def records(self) -> Sequence[DecisionRecord]:
        """All records, in the order in which they are shown."""

    @property
    def open(self) -> Sequence[DecisionRecord]:
        """The conflicts that are left."""
        return [record for record in self.records if record.status == "open"]

    def local_commit(self, identifier: str) -> LineCommit | None:
        """The commit that made local's value at the place of a record; None where git does not say.

        Raises RefusedChoiceError.
        """
        return None

    def find(self, query: str) -> list[DecisionRecord]:
        """The conflicts that a query finds, in the order in which they are shown."""
        return self._finder.find(self.records, query)

    def scopes(self, identifier: str) -> list[ConflictScope]:
        """What a conflict can be settled together with. Raises RefusedChoiceError."""
        return scopes_of(self.record(identifier), self.open, self._finder)

    @property
    def steps(self) -> Sequence[Step]:
        """All that was chosen, in its order, and not undone."""
        return self._steps

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to undo."""
        return bool(self._steps)

    @property
    def can_redo(self) -> bool:
        """Whether there is an undone step."""
        return bool(self._undone)

    @property
    @abstractmethod
    def can_save(self) -> bool:
        """Whether what was chosen may be saved as it is now."""

    @abstractmethod
    def report(self) -> MergeReport:
        """All that is decided now."""

    @abstractmethod
    def record(self, identifier: str) -> DecisionRecord:
        """The record of this id. Raises RefusedChoiceError."""

    def contexts(self, identifier: str) -> Mapping[SideName, Context]:
        """The lines around the place of a record, by side; none where packages differ. Raises RefusedChoiceError."""
        self.record(identifier)
        return {}

    @abstractmethod
    def hidden_values(self, identifier: str) -> Mapping[SideName, Value]:
        """The hidden values at the place of a record; none where nothing is hidden. Raises RefusedChoiceError."""

    def packages(self, identifier: str) -> Sequence[str]:
        """The packages that have the conflict of a record, where there may be several; else none."""
        return ()

    def alike(self, identifier: str) -> Sequence[str]:
        """The ids of the records with the same conflict, itself among them. Raises RefusedChoiceError."""
        return [self.record(identifier).id]

    @abstractmethod
    def choose(
        self, identifiers: Sequence[str], choice: Choice, value: Value | object = NO_VALUE, *, always: bool = False
    ) -> Answer:
        """Settles conflicts in the same way; `always` for good, by a rule.

        Raises RefusedChoiceError, and chooses nothing then.
        """

    def undo(self) -> Answer:
        """Takes the latest step back. Raises RefusedChoiceError where there is none."""
        if not self._steps:
            raise RefusedChoiceError("there is nothing to undo")
        step = self._steps[-1]
        answer = self._carry_out(self._steps[:-1], step)
        self._undone.append(step)
        self.revision += 1
        return answer

    def redo(self) -> Answer:
        """Makes an undone step again. Raises RefusedChoiceError where there is none."""
        if not self._undone:
            raise RefusedChoiceError("there is nothing to redo")
        step = self._undone.pop()
        answer = self._carry_out([*self._steps, step], step)
        self.revision += 1
        return answer

    @abstractmethod
    def save(self) -> Saved:
        """What is to be written. Raises NotSettledError where that is too early."""

    # ---- for the sessions themselves -----------------------------------------------------------------------------

    @abstractmethod
    def _carry_out(self, steps: list[Step], changed: Step) -> Answer:
        """Takes another list of steps, which differs from the one before by the step that `changed`."""

    def _asked_about(
        self, identifiers: Sequence[str], choice: Choice, value: Value | object, *, always: bool
    ) -> list[tuple[DecisionRecord, Value]]:
        """The records that a choice is made for, each with the value that is meant for it; a rule has none.

        Raises RefusedChoiceError where one of them does not have the choice.
        """
        if not identifiers:
            raise RefusedChoiceError(f"ids is empty; name at least one {self.noun}")
        if (choice == "value") != (value is not NO_VALUE):
            raise RefusedChoiceError("value must be given with the choice value, and only with it")
        records = [self.record(identifier) for identifier in dict.fromkeys(identifiers)]
        for record in records:
            if choice not in record.choices:
                possible = ", ".join(record.choices) or "nothing"
                raise RefusedChoiceError(f"{place_name(record)}: {choice} cannot be chosen here; {possible} can")
        has_value = choice == "value" and not always
        return [(record, custom_value(value, record) if has_value else None) for record in records]  # type: ignore[arg-type]
