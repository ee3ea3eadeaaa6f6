"""SVG by Graphviz. The edge to its program `dot`."""

from __future__ import annotations

import subprocess

from krm_merge.errors import KrmMergeError


class GraphvizError(KrmMergeError):
    """Graphviz is missing or fails; the message names the remedy."""


def svg(dot_text: str) -> str:
    """The SVG that `dot` draws. Raises GraphvizError."""
    try:
        done = subprocess.run(["dot", "-Tsvg"], input=dot_text.encode(), capture_output=True)
    except FileNotFoundError:
        remedy = "install Graphviz, or use --format html, which needs no program"
        raise GraphvizError(f"SVG is drawn by Graphviz, and its program dot is not on PATH; {remedy}") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise GraphvizError(f"dot cannot draw it: {lines[0] if lines else f'exit code {done.returncode}'}")
    return done.stdout.decode()
