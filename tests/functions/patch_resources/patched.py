"""Items and patches through PatchResources, and what came of them."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from functions import streams
from functions.streams import Value

DEPLOYMENT = (
    streams.DEPLOYMENT
    + """\
        env:
        - {name: A, value: "1"}
        - name: B # second
          value: "2"
"""
)


def config_of(*patches: Value | str, **fields: Any) -> Value:
    """The functionConfig with these patches; a text is a patch without target."""
    entries = [{"patch": dedent(patch)} if isinstance(patch, str) else patch for patch in patches]
    head = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "PatchResources", "metadata": {"name": "patches"}}
    return {**head, "patches": entries, **fields}


class Done(streams.Done):
    """The output for items and patches."""

    def targets(self) -> list[str]:
        """The names of the items with an annotation `hit`."""
        marks = ((item["metadata"]["name"], item["metadata"].get("annotations", {})) for item in self.items)
        return [name for name, annotations in marks if "hit" in annotations]


def apply_patches(items: list[str], *patches: Value | str, **fields: Any) -> Done:
    done = Done(items, config_of(*patches, **fields))
    assert done.exit_code == 0, done.message
    return done


def refuse(items: list[str], *patches: Value | str, **fields: Any) -> list[str]:
    done = Done(items, config_of(*patches, **fields))
    assert done.exit_code == 1, done.output
    return done.messages("error")


NAMED_PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
HIT = "metadata: {annotations: {hit: here}}"
ENV = """\
spec:
  template:
    spec:
      containers:
      - name: web
        env:
        - {name: B, value: "3"}
        - {name: C, value: "4"}
        - {name: A, value: "5"}
"""
