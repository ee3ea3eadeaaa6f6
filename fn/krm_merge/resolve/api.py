"""What the page may ask for, as plain values: reads a session, carries out choices, and saves them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Event, Lock
from time import time
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, get_args

from krm_merge.errors import KrmMergeError
from krm_merge.merge import Choice
from krm_merge.packages import UnavailableError
from krm_merge.report import SIDES, VERSIONS, DecisionRecord, changed_values, words_changed, yaml_text
from krm_merge.resolve.choices import ChoiceJournal, Step
from krm_merge.resolve.interface import (
    Answer,
    ConflictSession,
    NotSettledError,
    RefusedChoiceError,
    Saved,
    SideLabels,
    bundle_words,
    bundles_of,
    change_words,
    choice_words,
    choice_words_for_all,
    place_name,
    what_happened,
)
from krm_merge.safe_text import abridge
from krm_merge.text import Value


class RenewedError(KrmMergeError):
    """Why nothing was saved: a file changed meanwhile. The session has read it; saving again may work."""


class UnconfirmedError(KrmMergeError):
    """Why nothing was saved: all choices are of an earlier session, and nobody said that they hold."""


class Host(Generic[Step]):
    """One session, from the first look to the end. `write` writes what is saved, all or nothing, or raises.

    `journal` keeps what is done, None keeps nothing. `renew` makes a session of the same steps on the files as they are
    now. `lock` is for those who serve it from several threads.
    """

    def __init__(
        self,
        session: ConflictSession[Step],
        journal: ChoiceJournal[Step] | None,
        write: Callable[[Saved], None],
        renew: Callable[[Sequence[Step]], ConflictSession[Step]] | None = None,
    ) -> None:
        """Takes a session that has the steps that were kept."""
        self.session = session
        self.lock = Lock()
        self.is_saved = False
        self._has_chosen = False
        self._journal = journal
        self._write = write
        self._renew = renew

    def choose(self, identifiers: Sequence[str], choice: Choice, *value: Value, always: bool = False) -> Answer:
        """Settles conflicts. Raises RefusedChoiceError, PackageError."""
        return self._keep(self.session.choose(identifiers, choice, *value, always=always))

    def undo(self) -> Answer:
        """Takes the latest step back. Raises RefusedChoiceError, PackageError."""
        return self._keep(self.session.undo(), "undo")

    def redo(self) -> Answer:
        """Makes an undone step again. Raises RefusedChoiceError, PackageError."""
        return self._keep(self.session.redo(), "redo")

    def _keep(self, answer: Answer, event: Literal["undo", "redo"] | None = None) -> Answer:
        """Writes down what was done: the latest step, or that one was undone or redone."""
        if self._journal is not None:
            self._journal.add(event or self.session.steps[-1])
        self._has_chosen |= event is None
        return answer

    def earlier_choices(self) -> str:
        """Names the choices of an earlier session where nothing was chosen in this one, else '' (A11)."""
        count = len(self.session.steps)
        if self._has_chosen or not count:
            return ""
        places = [f"{place_name(record)} ({record.chosen})" for record in _chosen(self.session.records)]
        noun = "1 choice of an earlier session is" if count == 1 else f"{count} choices of an earlier session are"
        return f"{noun} kept: {abridge(places, _MOST_PLACES) if places else 'none fits any more'}"

    def save(self, *, with_earlier: bool = False) -> Saved:
        """Writes the merged package and the choices; where all are of an earlier session, only `with_earlier`.

        Raises UnconfirmedError, NotSettledError, RenewedError or another KrmMergeError, and has written nothing then.
        """
        if not with_earlier and (earlier := self.earlier_choices()):
            raise UnconfirmedError(f"nothing was chosen in this session; {earlier}")
        saved = self.session.save()
        try:
            self._write(saved)
        except UnavailableError as error:
            if self._renew is None:
                raise
            before, self.session = self.session, self._renew(self.session.steps)
            self.session.revision = before.revision + 1
            raise RenewedError(_renewed(str(error), before.records, self.session.records)) from None
        self.is_saved = True
        if self._journal is not None:
            self._journal.remove()
        return saved


def _chosen(records: Iterable[DecisionRecord]) -> list[DecisionRecord]:
    return [record for record in records if record.settled_by.startswith(("resolution", "rule"))]


def _renewed(why: str, before: Iterable[DecisionRecord], now: Iterable[DecisionRecord]) -> str:
    """Says which choices fit the files as they are now, and which do not."""
    chosen = {record.id: record for record in _chosen(before)}
    fitting = {record.id for record in now if record.status == "settled" and record.id in chosen}
    others = [place_name(record) for identifier, record in chosen.items() if identifier not in fitting]
    lost = f"; not those on {abridge(others, _MOST_PLACES)}" if others else ""
    return (
        f"{why.partition(';')[0]}; nothing was written. It was read again: {len(fitting)} choices fit{lost}. Save again"
    )


Body: TypeAlias = Mapping[str, Any]

OLD_REVISION: Final = "this choice is out of date: something else was chosen meanwhile, perhaps in another tab"
_CHOICES: Final[Mapping[Any, Choice]] = {choice: choice for choice in get_args(Choice)}
_STATUSES: Final[Mapping[type, int]] = {
    RefusedChoiceError: 422,
    NotSettledError: 422,
    RenewedError: 409,
    UnconfirmedError: 409,
}
_MOST_PACKAGES: Final = 200
_MOST_PLACES: Final = 5


class Reply(NamedTuple):
    """The status and the value that a request is answered with; after the last one nobody asks any more."""

    status: int
    value: Mapping[str, Any]
    is_last: bool = False


class Api:
    """Answers requests about the session of a host. `is_over` is set when the last answer is given."""

    def __init__(
        self, host: Host[Any], labels: SideLabels, rule_text: Callable[[str], str] = lambda number: ""
    ) -> None:
        """Serves this host; the page calls the sides as the labels say. `rule_text` explains a rule by its number."""
        self._rule_text = rule_text
        self._host = host
        self._labels = labels
        self.is_over = Event()
        self._made_at = -1
        self._made = self._make()
        self.documents: Mapping[str, Callable[[], bytes]] = {"/api/report": self.report, "/api/view": self.view}
        self.questions: Mapping[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
            "/api/change": ("id", self.change),
            "/api/context": ("id", self.context),
            "/api/find": ("q", self.find),
            "/api/rule": ("id", self.rule),
            "/api/scopes": ("id", self.scopes),
        }
        self.posts: Mapping[str, Callable[[Body], Reply]] = {
            "/api/choose": self._choose,
            "/api/undo": lambda _: self._reply_to(self._host.undo()),
            "/api/redo": lambda _: self._reply_to(self._host.redo()),
            "/api/save": self._save,
            "/api/reveal": self._reveal,
            "/api/close": self._close,
        }

    @property
    def is_saved(self) -> bool:
        """Whether all of it is written."""
        return self._host.is_saved

    def report(self) -> bytes:
        """`GET /api/report`: the MergeReport of all that is decided now, and its `revision`, as JSON."""
        return self._now()[0]

    def view(self) -> bytes:
        """`GET /api/view`: what people read of the same records, as JSON: sentences, names of choices, YAML."""
        return self._now()[1]

    def _now(self) -> tuple[bytes, bytes]:
        """Both as they are now; those of the beginning are there before somebody asks."""
        with self._host.lock:
            if self._made_at != self._host.session.revision:
                self._made = self._make()
            return self._made

    def _make(self) -> tuple[bytes, bytes]:
        session = self._host.session
        report = session.report()
        self._made_at = session.revision
        view = {
            **self._wordings(report.records),
            "notices": [result.message for result in report.results],
            "labels": {side: getattr(self._labels, side) for side in VERSIONS},
            "policyFile": session.policy_file,
            "bundles": [
                {"title": bundle_words(bundle, self._labels), **self._batch(bundle)}
                for bundle in bundles_of(report.records)
            ],
            **self._state(),
        }
        document = {**report.to_value(), "revision": session.revision}
        return json.dumps(document).encode(), json.dumps(view).encode()

    def ask(self, path: str, text: str) -> Reply:
        """A question, whose path is among `questions`, with the value of its parameter."""
        try:
            return Reply(200, self.questions[path][1](text))
        except RefusedChoiceError as error:
            return Reply(404, {"error": str(error)})

    def context(self, identifier: str) -> dict[str, Any]:
        """`GET /api/context?id=`: the YAML around a place on every side, and as merged; what differs is marked."""
        with self._host.lock:
            session = self._host.session
            record, contexts = session.record(identifier), session.contexts(identifier)
        value: dict[str, Any] = {"id": identifier, "marks": _marks(record), "changes": changed_values(record)}
        for side in SIDES:
            if side in contexts:
                context = contexts[side]
                value[side] = {"lines": list(context.lines), "start": context.start, "stop": context.stop}
        return value

    def change(self, identifier: str) -> dict[str, Any]:
        """`GET /api/change?id=`: who made local's value at a place, when and why, '' where git does not say."""
        # Without the lock: no choice changes what git has, and git may take long.
        commit = self._host.session.local_commit(identifier)
        return {"words": "" if commit is None else change_words(commit, self._labels, time())}

    def find(self, query: str) -> dict[str, Any]:
        """`GET /api/find?q=`: the ids of the conflicts that a query finds, and what all of them can be settled with."""
        with self._host.lock:
            return {"query": query, **self._batch(self._host.session.find(query))}

    def rule(self, number: str) -> dict[str, Any]:
        """`GET /api/rule?id=`: the text of a rule, so that nobody needs the network to read it."""
        title, _, text = self._rule_text(number).partition("\n")
        if not title:
            raise RefusedChoiceError(f"there is no rule {number!r} here")
        return {"title": title, "text": text.strip()}

    def scopes(self, identifier: str) -> dict[str, Any]:
        """`GET /api/scopes?id=`: what a conflict can be settled together with, the nearest first."""
        with self._host.lock:
            scopes = self._host.session.scopes(identifier)
        return {"scopes": [{"name": scope.name, "query": scope.query, "count": len(scope.ids)} for scope in scopes]}

    def _batch(self, records: Sequence[DecisionRecord]) -> dict[str, Any]:
        return {
            "ids": [record.id for record in records],
            "choices": choice_words_for_all([record for record in records if record.choices], self._labels),
        }

    def post(self, path: str, body: Body) -> Reply:
        """A request that changes something; its path is among `posts`."""
        revision = body.get("revision")
        with self._host.lock:
            if self._host.is_saved and path != "/api/close":
                return Reply(409, {"error": "this is already saved"})
            if revision is not None and revision != self._host.session.revision:
                return Reply(409, {"error": OLD_REVISION, "revision": self._host.session.revision})
            if path == "/api/choose" and "revision" not in body:
                return Reply(400, {"error": "revision is missing"})
            try:
                return self.posts[path](body)
            except KrmMergeError as error:
                return Reply(_STATUSES.get(type(error), 500), {"error": str(error), **self._state()})

    def _choose(self, body: Body) -> Reply:
        identifiers, choice, always = body.get("ids"), body.get("choice"), body.get("always", False)
        if not isinstance(identifiers, list) or not all(isinstance(identifier, str) for identifier in identifiers):
            return Reply(400, {"error": "ids must be a list of strings"})
        if not isinstance(always, bool):
            return Reply(400, {"error": "always must be true or false"})
        if not isinstance(choice, str) or choice not in _CHOICES:
            return Reply(422, {"error": f"choice is not one of {', '.join(_CHOICES)}"})
        value = [body["value"]] if "value" in body else []
        return self._reply_to(self._host.choose(identifiers, _CHOICES[choice], *value, always=always))

    def _save(self, body: Body) -> Reply:
        changes = self._host.save(with_earlier=body.get("withEarlier") is True).changes
        return Reply(200, {"saved": True, "files": sorted(changes), **self._state()})

    def _reveal(self, body: Body) -> Reply:
        """D5: the hidden values of one record, for somebody who asks for just these; nothing keeps them."""
        identifier = body.get("id")
        if not isinstance(identifier, str):
            return Reply(400, {"error": "id must be a string"})
        values = self._host.session.hidden_values(identifier)
        if not values:
            return Reply(422, {"error": "nothing is hidden here"})
        return Reply(200, {"id": identifier, "values": {side: yaml_text(values[side]) for side in values}})

    def _close(self, _: Body) -> Reply:
        return Reply(200, {"closed": True, "saved": self._host.is_saved}, is_last=True)

    def _reply_to(self, answer: Answer) -> Reply:
        records = [record.to_value() for record in answer.records]
        changed = {"records": records, "removed": list(answer.removed), **self._wordings(answer.records)}
        return Reply(200, {**self._state(), **changed})

    def _wordings(self, records: Iterable[DecisionRecord]) -> dict[str, Any]:
        """What people read of records: sentences and the names of choices, by number, and YAML; both by id."""
        words: dict[str, int] = {}
        numbers: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
        texts = {}
        for record in records:
            names = tuple((choice, choice_words(record, choice, self._labels)) for choice in record.choices)
            sentence = what_happened(record, self._labels)
            words[record.id] = numbers.setdefault((sentence, names), len(numbers))
            if record.status != "automatic" and (written := _texts(record)):
                texts[record.id] = written
        wordings = [{"said": sentence, "choices": dict(names)} for sentence, names in numbers]
        return {"words": words, "wordings": wordings, "texts": texts, "packages": self._packages(records)}

    def _packages(self, records: Iterable[DecisionRecord]) -> dict[str, Any]:
        """How many packages have a conflict, and the first of them, by id; nothing where there is one package."""
        packages = {record.id: self._host.session.packages(record.id) for record in records}
        return {
            identifier: {"count": len(names), "first": names[:_MOST_PACKAGES]}
            for identifier, names in packages.items()
            if names
        }

    def _state(self) -> dict[str, Any]:
        session = self._host.session
        state: dict[str, Any] = {"revision": session.revision, "open": len(session.open)}
        state["earlier"] = self._host.earlier_choices()
        return state | {"canUndo": session.can_undo, "canRedo": session.can_redo, "canSave": session.can_save}


def _texts(record: DecisionRecord) -> dict[str, str]:
    """The YAML of values that are no plain texts and numbers, by side."""
    return {side: yaml_text(value) for side, value in record.values.items() if isinstance(value, dict | list)}


def _marks(record: DecisionRecord) -> dict[str, list[tuple[str, bool]]]:
    """The values of the sides in pieces, each with whether the original lacks it."""
    values = record.values
    if "original" not in values:
        return {side: [(yaml_text(values[side]), False)] for side in VERSIONS if side in values}
    before = yaml_text(values["original"])
    return {side: list(words_changed(before, yaml_text(values[side]))) for side in VERSIONS if side in values}
