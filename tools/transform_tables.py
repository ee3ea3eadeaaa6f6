"""The table of docs/transform.md: the options that the built-in plugin declares."""

from __future__ import annotations

from krm_merge.transform import KubernetesPlugin


def tables() -> dict[str, str]:
    """The table by its name, as Markdown."""
    rows = [["option", "does", "example"], ["---", "---", "---"]]
    rows += [[f"`{field.name}`", field.help, f"`{field.example}`"] for field in KubernetesPlugin().metadata.fields]
    return {"options": "".join(f"| {' | '.join(row)} |\n" for row in rows)}
