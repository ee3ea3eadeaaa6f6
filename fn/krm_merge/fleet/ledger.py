"""What became of each target: an SQLite file in the campaign's directory. The edge to it.

The outcome of a merge and the last look at a target are kept apart: a run that finds nothing to do leaves outcomes as
they are.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from krm_merge.fleet.merging.job import FailureClass, Outcome, TargetConflict, TargetState
from krm_merge.packages.files.directory import PackageError

_VERSION = 2
_SCHEMA = """
CREATE TABLE IF NOT EXISTS targets (
  target TEXT PRIMARY KEY,
  state TEXT NOT NULL DEFAULT 'pending',
  message TEXT NOT NULL DEFAULT '',
  failure TEXT NOT NULL DEFAULT '',
  seen TEXT NOT NULL DEFAULT '',
  digest TEXT NOT NULL DEFAULT '',
  base TEXT NOT NULL DEFAULT '',
  made TEXT NOT NULL DEFAULT '',
  files INTEGER NOT NULL DEFAULT 0,
  packages TEXT NOT NULL DEFAULT '[]',
  seconds REAL NOT NULL DEFAULT 0,
  settings TEXT NOT NULL DEFAULT '',
  choices TEXT NOT NULL DEFAULT '',
  merged_at TEXT NOT NULL DEFAULT '',
  looked_at TEXT NOT NULL DEFAULT '',
  crashes INTEGER NOT NULL DEFAULT 0,
  published TEXT NOT NULL DEFAULT '',
  pushed TEXT NOT NULL DEFAULT '',
  request INTEGER NOT NULL DEFAULT 0,
  wave TEXT NOT NULL DEFAULT '',
  problem TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS conflicts (
  target TEXT NOT NULL,
  number INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  conflict TEXT NOT NULL,
  PRIMARY KEY (target, number)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_fingerprint ON conflicts (fingerprint);
"""
_OF_OUTCOME = (
    "state = ?, message = ?, failure = ?, seen = ?, digest = ?, base = ?, made = ?, files = ?, packages = ?, "
    "seconds = ?, settings = ?, choices = ?, merged_at = ?, looked_at = ?, crashes = 0"
)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A target in the ledger.

    `made` is the commit for the branch, `pushed` the one that was pushed, `request` the number of the pull request,
    `published` what became of it, and `problem` why it could not be published.
    """

    target: str
    state: TargetState
    message: str
    failure: FailureClass
    seen: str
    digest: str
    base: str
    made: str
    files: int
    packages: tuple[str, ...]
    seconds: float
    settings: str
    choices: str
    merged_at: str
    looked_at: str
    crashes: int
    published: str
    pushed: str
    request: int
    wave: str
    problem: str


def is_merged(entry: LedgerEntry) -> bool:
    """Whether the merge of a target gave a result."""
    return entry.state == "clean"


_COLUMNS = tuple(field.name for field in fields(LedgerEntry))
_CONFLICT = tuple(field.name for field in fields(TargetConflict))


class Ledger:
    """The ledger of a campaign."""

    def __init__(self, place: Path) -> None:
        """Opens the file, and makes it where there is none. Raises PackageError."""
        self._place = place
        try:
            self._file = sqlite3.connect(place, isolation_level=None, timeout=60)
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
    def opened(cls, place: Path) -> Iterator[Ledger]:
        """The ledger, closed in the end. Raises PackageError where it cannot be read or written."""
        ledger = cls(place)
        try:
            yield ledger
        except sqlite3.Error as error:
            raise PackageError(f"{place}: {error}") from None
        finally:
            ledger._file.close()

    # ---- reading -------------------------------------------------------------------------------------------------

    def entries(self) -> dict[str, LedgerEntry]:
        """All entries by target."""
        rows = self._file.execute(f"SELECT {', '.join(_COLUMNS)} FROM targets ORDER BY target")
        return {row[0]: _entry(row) for row in rows}

    def conflicts(self) -> Iterator[tuple[str, TargetConflict]]:
        """All conflicts with their targets."""
        for target, text in self._file.execute("SELECT target, conflict FROM conflicts ORDER BY target, number"):
            yield target, TargetConflict(**json.loads(text))

    # ---- writing -------------------------------------------------------------------------------------------------

    def follow(self, targets: Iterable[str]) -> None:
        """Has an entry for each of the targets, and none for others."""
        wanted = set(targets)
        known = {row[0] for row in self._file.execute("SELECT target FROM targets")}
        with self._transaction():
            self._file.executemany("INSERT INTO targets (target) VALUES (?)", [(one,) for one in wanted - known])
            for table in ("targets", "conflicts"):
                gone = [(one,) for one in known - wanted]
                self._file.executemany(f"DELETE FROM {table} WHERE target = ?", gone)

    def record(self, outcomes: Iterable[tuple[Outcome, str, str]], at: str) -> None:
        """Records outcomes, each with the digests of the settings and choices that it depends on."""
        with self._transaction():
            for outcome, settings, choices in outcomes:
                values = (
                    outcome.state,
                    outcome.message,
                    outcome.failure,
                    outcome.seen,
                    outcome.digest,
                    outcome.base,
                    outcome.commit,
                    outcome.files,
                    json.dumps(outcome.packages),
                    outcome.seconds,
                    settings,
                    choices,
                    at,
                    at,
                )
                self._file.execute(f"UPDATE targets SET {_OF_OUTCOME} WHERE target = ?", (*values, outcome.target))
                self._put_conflicts(outcome.target, outcome.conflicts)

    def looked(self, seen: Iterable[tuple[str, str]], at: str) -> None:
        """Records looks at targets that found nothing to do: what each showed."""
        with self._transaction():
            rows = [(one, at, target) for target, one in seen]
            self._file.executemany("UPDATE targets SET seen = ?, looked_at = ? WHERE target = ?", rows)

    def arrived(self, seen: Iterable[tuple[str, str, str, str]], at: str) -> None:
        """Records targets whose results are found in them: what each showed, its digest, and the settings.

        Where a branch was pushed for it, that is merged.
        """
        with self._transaction():
            for target, one, digest, settings in seen:
                self._file.execute(
                    "UPDATE targets SET seen = ?, digest = ?, settings = ?, looked_at = ?, "
                    "published = CASE published WHEN '' THEN '' ELSE 'merged' END WHERE target = ?",
                    (one, digest, settings, at, target),
                )

    def crashed(self, target: str) -> None:
        """Counts that a worker ended while it was at a target."""
        self._file.execute("UPDATE targets SET crashes = crashes + 1 WHERE target = ?", (target,))

    def publish(self, target: str, **columns: Any) -> None:
        """Records what became of a branch or pull request."""
        assert set(columns) <= {"published", "pushed", "request", "wave", "problem"}
        changes = ", ".join(f"{name} = ?" for name in columns)
        self._file.execute(f"UPDATE targets SET {changes} WHERE target = ?", (*columns.values(), target))

    def take_over(self, other: Ledger) -> int:
        """Takes from another ledger of the same campaign what it knows and is newer; gives how many targets."""
        ours, theirs = self.entries(), other.entries()
        newer = [one for name, one in theirs.items() if name in ours and one.merged_at > ours[name].merged_at]
        places = ", ".join("?" for _ in _COLUMNS)
        conflicts: dict[str, list[TargetConflict]] = {one.target: [] for one in newer}
        for target, conflict in other.conflicts():
            if target in conflicts:
                conflicts[target].append(conflict)
        with self._transaction():
            for one in newer:
                row = [getattr(one, name) for name in _COLUMNS]
                row[_COLUMNS.index("packages")] = json.dumps(one.packages)
                self._file.execute(f"REPLACE INTO targets ({', '.join(_COLUMNS)}) VALUES ({places})", row)
                self._put_conflicts(one.target, conflicts[one.target])
        return len(newer)

    def _put_conflicts(self, target: str, conflicts: Iterable[TargetConflict]) -> None:
        """Replaces the conflicts of a target."""
        self._file.execute("DELETE FROM conflicts WHERE target = ?", (target,))
        rows = [(target, number, one.fingerprint, json.dumps(_as_value(one))) for number, one in enumerate(conflicts)]
        self._file.executemany("INSERT INTO conflicts VALUES (?, ?, ?, ?)", rows)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._file.execute("ROLLBACK")
            raise
        self._file.execute("COMMIT")


def _entry(row: tuple[Any, ...]) -> LedgerEntry:
    named = dict(zip(_COLUMNS, row, strict=True))
    return LedgerEntry(**named | {"packages": tuple(json.loads(named["packages"]))})


def _as_value(conflict: TargetConflict) -> dict[str, Any]:
    return {name: getattr(conflict, name) for name in _CONFLICT}
