"""SVG by Graphviz. The edge to its program `dot`."""

from __future__ import annotations

import subprocess

from krm_merge.errors import KrmMergeError


class GraphvizError(KrmMergeError):
    """There is no Graphviz, or it refuses; says what to do about it."""


def svg(dot_text: str) -> str:
    """What `dot` draws. Raises GraphvizError."""
    try:
        done = subprocess.run(["dot", "-Tsvg"], input=dot_text.encode(), capture_output=True)
    except FileNotFoundError:
        remedy = "install Graphviz, or take --format html, which needs no program"
        raise GraphvizError(f"SVG is drawn by Graphviz, and its program dot is not on PATH; {remedy}") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise GraphvizError(f"dot cannot draw it: {said[0] if said else f'exit code {done.returncode}'}")
    return done.stdout.decode()
