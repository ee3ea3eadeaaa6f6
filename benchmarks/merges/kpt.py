"""Merges one file with `kpt pkg update`, as the only file of a package."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

from benchmarks.merges.entrants import SECONDS, Outcome
from benchmarks.merges.facts import Values, facts_of
from benchmarks.merges.triples import Triple
from benchmarks.packages import NAME, kptfile
from benchmarks.update import GIT

NOTE = re.compile(rb"^( *)annotations:\n +internal\.kpt\.dev/upstream-identifier: .*\n(?!\1 )", re.MULTILINE)
"""kpt's own annotation, and the mapping where there is nothing else in it."""
ANNOTATION = re.compile(rb"^ +internal\.kpt\.dev/upstream-identifier: .*\n", re.MULTILINE)


def update_package(triple: Triple) -> Outcome | None:
    """Updates a package of this file with kpt, which reports no conflicts; None where not all in it are resources."""
    if not all(holds_resources(text) for text in (triple.original, triple.upstream, triple.local)):
        return None
    with tempfile.TemporaryDirectory(prefix="krm-merge-merges-") as name:
        upstream, local = Path(name, "upstream"), Path(name, "local")
        environment = {"PATH": os.environ["PATH"], **GIT, "HOME": name, "KPT_CACHE_DIR": f"{name}/cache"}

        def run(folder: Path, *words: str) -> str:
            done = subprocess.run(
                words, cwd=folder, capture_output=True, check=True, text=True, env=environment, timeout=SECONDS
            )
            return done.stdout.strip()

        def commit(repository: Path) -> str:
            run(repository, "git", "add", "--all")
            # In two recipes upstream is the original, byte for byte.
            run(repository, "git", "commit", "--quiet", "--allow-empty", "--message=version")
            return run(repository, "git", "rev-parse", "HEAD")

        for repository in (upstream, local):
            (repository / NAME).mkdir(parents=True)
            run(repository, "git", "init", "--quiet", "--initial-branch=main")
        (upstream / NAME / "Kptfile").write_text(kptfile(), encoding="utf-8")
        for ref, text in (("v1", triple.original), ("v2", triple.upstream)):
            (upstream / NAME / "file.yaml").write_bytes(text)
            commit(upstream)
            run(upstream, "git", "tag", ref)
        first = run(upstream, "git", "rev-parse", "v1")
        (local / NAME / "Kptfile").write_text(kptfile(f"file://{upstream}", "v1", first), encoding="utf-8")
        (local / NAME / "file.yaml").write_bytes(triple.local)
        commit(local)
        try:
            run(local, "kpt", "pkg", "update", f"{NAME}@v2")
        except subprocess.TimeoutExpired:
            return Outcome(None, True, f"took more than {SECONDS} s")
        except subprocess.CalledProcessError as error:
            return Outcome(None, True, error.stderr.strip()[-200:])
        merged = local / NAME / "file.yaml"
        text = merged.read_bytes() if merged.is_file() else b""
    return Outcome(ANNOTATION.sub(b"", NOTE.sub(b"", text)), False)


def holds_resources(text: bytes) -> bool:
    """Whether a file is made of resources alone, each with a name."""
    documents = facts_of(text).values
    return bool(documents) and all(_is_resource(document) for document in documents or ())


def _is_resource(document: Values) -> bool:
    fields = {key[-1]: value for key, value in document[1]} if document[0] == "m" else {}
    metadata = fields.get("metadata", ("s", "null", ""))
    has_name = metadata[0] == "m" and any(key[-1] == "name" and value[0] == "s" for key, value in metadata[1])
    return has_name and "apiVersion" in fields and "kind" in fields
