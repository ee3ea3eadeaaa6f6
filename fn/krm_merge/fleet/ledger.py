"""What became of each target: an SQLite file in the campaign's directory, and its entries. The edge to the file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import MISSING, Field, astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from krm_merge.fleet.job import NEED_ATTENTION, TargetConflict, TargetMerge, TargetOutcome
from krm_merge.forges.interface import CheckState
from krm_merge.krm import ResourceRef
from krm_merge.packages import PackageError
from krm_merge.report import DecisionRecord
from krm_merge.startup import group_by_key

RequestState: TypeAlias = Literal["committed", "pushed", "open", "merged", "closed", "reverting", "reverted", "unknown"]
"""What became of a result. Without a pull request it is `committed` here, or `pushed` as a branch.

`reverting` is a merged one whose reverse is proposed, `reverted` one whose reverse was merged, too. `unknown` is one
that the forge does not show, which says nothing.
"""

WITHOUT_REQUEST: frozenset[RequestState] = frozenset(("committed", "pushed"))

_SECONDS = len("2026-01-02T03:04:05")


@dataclass(frozen=True, slots=True)
class LedgerRequest:
    """A pull request of a target, or with the number 0 a branch without one.

    `version` is the commit of upstream and `result` the merged result that it was last for, `commit` what we pushed, or
    what was merged, '' where that is unknown. `merged_at` and `looked_at` are times in UTC. `reverse` is the number of
    the request that takes it back, 0 for none.
    """

    target: str
    number: int
    address: str
    version: str
    result: str
    commit: str
    state: RequestState
    merged_at: str = ""
    looked_at: str = ""
    checks: CheckState = ""
    reverse: int = 0


@dataclass(frozen=True, slots=True)
class LedgerUpstream:
    """The commit that the campaign's ref named in the last run, when it was made, and why it is not taken now."""

    ref: str
    commit: str = ""
    date: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LedgerEntry(TargetMerge):
    """A target in the ledger: its last merge, `made` the commit for the branch, and `problem` why it has none.

    `requests` are its pull requests by number.
    """

    made: str = ""
    settings: str = ""
    choices: str = ""
    merged_at: str = ""
    problem: str = ""
    requests: tuple[LedgerRequest, ...] = ()

    @property
    def version(self) -> str:
        """The commit of upstream that was merged last."""
        return self.settings.rpartition(" ")[2]

    @property
    def result(self) -> str:
        """The result of the merge: the commit for a repository, the digest of a directory."""
        return self.made or self.digest

    @property
    def request(self) -> LedgerRequest | None:
        """The pull request that decides about the result; None where the result needs another one.

        That is the open one, or the one that is being taken back: until people have decided about that, the next
        version waits. A closed one was refused for its version of upstream, and so was one that was taken back. A
        merged one decides about its result, and about all that was merged before it: what the next version brings is
        another result.
        """
        latest_first = self.requests[::-1]
        request = next((request for request in latest_first if request.state in ("open", "reverting")), None)
        return request or next((request for request in latest_first if self._ends(request)), None)

    def _ends(self, request: LedgerRequest) -> bool:
        same = request.version == self.version
        if request.state == "merged":
            # Forges have seconds. What was merged since the last run is not in the result yet.
            is_since = request.merged_at[:_SECONDS] > self.merged_at[:_SECONDS]
            return is_since or (same and (request.result == self.result or not self.made))
        return same and (request.state not in WITHOUT_REQUEST or request.result == self.result)

    @property
    def shown_state(self) -> str:
        """The state that people are shown: that of the pull request, unless a later merge needs attention."""
        request = self.request
        if request is None or (request.version != self.version and self.state in NEED_ATTENTION):
            return self.state
        return request.state

    @property
    def is_to_publish(self) -> bool:
        """Whether it was merged, and no pull request has the result."""
        return is_merged(self) and bool(self.result) and self.request is None

    def is_published(self, *, with_request: bool) -> bool:
        """Whether the branch has the present result, and the pull request too where one is wanted."""
        request = self.request
        if request is None or (with_request and request.state in WITHOUT_REQUEST):
            return False
        return request.state != "open" or (request.version, request.result) == (self.version, self.result)

    @property
    def commits(self) -> list[str]:
        """The heads of the branch that we pushed, or that were merged; the latest is the last."""
        return [request.commit for request in self.requests if request.commit]


def is_merged(entry: LedgerEntry) -> bool:
    """Whether the merge of a target gave a result."""
    return entry.state == "clean"


_VERSION = 8
_COLUMNS = tuple(field for field in fields(LedgerEntry) if field.name != "requests")
_NAMES = tuple(column.name for column in _COLUMNS)
_OF_OUTCOME = tuple(field.name for field in fields(TargetOutcome) if field.name in _NAMES)
_REQUEST = tuple(field.name for field in fields(LedgerRequest))


def _definitions(columns: Iterable[Field[Any]]) -> str:
    """Columns with the names and defaults of fields; a tuple is a list in JSON."""
    defaults = {column.name: "[]" if column.default == () else column.default for column in columns}
    return ", ".join(
        f'"{name}" NOT NULL{"" if default is MISSING else f" DEFAULT {default!r}"}'
        for name, default in defaults.items()
    )


_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS targets ({_definitions(_COLUMNS)}, PRIMARY KEY (target)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests (
  {_definitions(fields(LedgerRequest))}, PRIMARY KEY (target, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS upstream ({_definitions(fields(LedgerUpstream))}, PRIMARY KEY (ref));
CREATE TABLE IF NOT EXISTS conflicts (
  target TEXT NOT NULL,
  number INTEGER NOT NULL,
  conflict TEXT NOT NULL,
  PRIMARY KEY (target, number)
) WITHOUT ROWID;
"""


class Ledger:
    """The ledger of a campaign."""

    def __init__(self, place: Path, *, is_dry_run: bool = False) -> None:
        """Opens the file, and makes it where there is none; in a dry run a copy in memory. Raises PackageError."""
        self._place = place
        try:
            self._file = sqlite3.connect(":memory:" if is_dry_run else place, isolation_level=None, timeout=60)
            if is_dry_run and place.is_file():
                with closing(sqlite3.connect(f"{place.absolute().as_uri()}?mode=ro", uri=True)) as file:
                    file.backup(self._file)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            version = self._file.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _VERSION):
                raise PackageError(f"{place}: written by another version of krm-merge; remove it, and run again")
            self._file.executescript(_SCHEMA)
            self._file.execute(f"PRAGMA user_version = {_VERSION}")
        except sqlite3.Error as error:
            raise PackageError(f"{place}: {error}; remove it: what was done is in git") from None

    @classmethod
    @contextmanager
    def open(cls, place: Path, *, is_dry_run: bool = False) -> Iterator[Ledger]:
        """The ledger, closed in the end; in a dry run a copy in memory. Raises PackageError if it cannot be used."""
        ledger = cls(place, is_dry_run=is_dry_run)
        try:
            yield ledger
        except sqlite3.Error as error:
            raise PackageError(f"{place}: {error}") from None
        finally:
            ledger._file.close()

    # ---- reading -------------------------------------------------------------------------------------------------

    def entries(self) -> dict[str, LedgerEntry]:
        """All entries by target."""
        rows = self._file.execute("SELECT * FROM requests ORDER BY target, number")
        requests = group_by_key((row[0], LedgerRequest(*row)) for row in rows)
        rows = self._file.execute(f"SELECT {', '.join(_NAMES)} FROM targets ORDER BY target")
        return {row[0]: _entry(row, requests.get(row[0], ())) for row in rows}

    def conflicts(self) -> Iterator[tuple[str, TargetConflict]]:
        """All conflicts with their targets."""
        for target, text in self._file.execute("SELECT target, conflict FROM conflicts ORDER BY target, number"):
            yield target, _conflict(json.loads(text))

    def upstream(self, ref: str) -> LedgerUpstream:
        """What is known of a ref of the campaign's upstream."""
        row = self._file.execute("SELECT * FROM upstream WHERE ref = ?", (ref,)).fetchone()
        return LedgerUpstream(*row) if row else LedgerUpstream(ref)

    # ---- writing -------------------------------------------------------------------------------------------------

    def follow(self, targets: Iterable[str]) -> None:
        """Has an entry for each of the targets, and none for others."""
        names = set(targets)
        recorded_names = {row[0] for row in self._file.execute("SELECT target FROM targets")}
        with self._transaction():
            self._file.executemany(
                "INSERT INTO targets (target) VALUES (?)", [(name,) for name in names - recorded_names]
            )
            for table in ("targets", "conflicts", "requests"):
                gone = [(name,) for name in recorded_names - names]
                self._file.executemany(f"DELETE FROM {table} WHERE target = ?", gone)

    def record(self, outcomes: Iterable[tuple[TargetOutcome, str, str]], at: str) -> None:
        """Records outcomes, each with the digests of the settings and choices that it depends on."""
        with self._transaction():
            for outcome, settings, choices in outcomes:
                values: dict[str, Any] = {name: getattr(outcome, name) for name in _OF_OUTCOME}
                values |= {"packages": json.dumps(outcome.packages), "made": outcome.commit, "settings": settings}
                values |= {"choices": choices, "merged_at": at}
                assignments = ", ".join(f"{name} = :{name}" for name in values)
                self._file.execute(f"UPDATE targets SET {assignments} WHERE target = :target", values)
                self._put_conflicts(outcome.target, outcome.conflicts)

    def record_upstream_merged(self, seen: Iterable[tuple[str, str, str, str]], at: str) -> None:
        """Records targets whose results are found in them: what each showed, its digest, and the settings.

        Nothing of them is left to publish. A branch that was pushed for one is merged.
        """
        with self._transaction():
            for target, signature, digest, settings in seen:
                self._file.execute(
                    "UPDATE targets SET seen = ?, digest = ?, settings = ?, made = '' WHERE target = ?",
                    (signature, digest, settings, target),
                )
                self._file.execute(
                    "UPDATE requests SET state = 'merged', merged_at = ? WHERE target = ? AND number = 0", (at, target)
                )

    def put_upstream(self, upstream: LedgerUpstream) -> None:
        """Records what is known of a ref of the campaign's upstream."""
        self._file.execute("REPLACE INTO upstream VALUES (?, ?, ?, ?)", astuple(upstream))

    def put_requests(self, requests: Iterable[LedgerRequest]) -> None:
        """Records pull requests as they are now; with one the branch is not without a pull request any more."""
        places = ", ".join("?" for _ in _REQUEST)
        with self._transaction():
            for request in requests:
                if request.number:
                    self._file.execute("DELETE FROM requests WHERE target = ? AND number = 0", (request.target,))
                self._file.execute(f"REPLACE INTO requests VALUES ({places})", astuple(request))

    def put_problem(self, target: str, problem: str) -> None:
        """Records why a target could not be published, '' where it was."""
        self._file.execute("UPDATE targets SET problem = ? WHERE target = ?", (problem, target))

    def _put_conflicts(self, target: str, conflicts: Iterable[TargetConflict]) -> None:
        """Replaces the conflicts of a target."""
        self._file.execute("DELETE FROM conflicts WHERE target = ?", (target,))
        rows = [(target, number, json.dumps(_conflict_value(conflict))) for number, conflict in enumerate(conflicts)]
        self._file.executemany("INSERT INTO conflicts VALUES (?, ?, ?)", rows)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._file.execute("ROLLBACK")
            raise
        self._file.execute("COMMIT")


def now() -> str:
    """The time in UTC, as the ledger has it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _entry(row: tuple[Any, ...], requests: Sequence[LedgerRequest]) -> LedgerEntry:
    named = dict(zip(_NAMES, row, strict=True))
    return LedgerEntry(**named | {"packages": tuple(json.loads(named["packages"]))}, requests=tuple(requests))


def _conflict_value(conflict: TargetConflict) -> dict[str, Any]:
    record, resource = conflict.record, conflict.record.resource
    value = {name: getattr(record, name) for name in DecisionRecord.__match_args__} | {"package": conflict.package}
    names = ResourceRef.__match_args__
    return value | {"resource": None if resource is None else [getattr(resource, name) for name in names]}


def _conflict(value: dict[str, Any]) -> TargetConflict:
    package, resource = value.pop("package"), value["resource"]
    value |= {"choices": tuple(value["choices"]), "resource": None if resource is None else ResourceRef(*resource)}
    return TargetConflict(package, DecisionRecord(**value))
