"""C10: what Konflux has today besides Components and their nudges."""

from __future__ import annotations

import textwrap

from components.observations import run
from components.settings.resources import BUNDLE, OP1, OP2

CONFIG = """\
apiVersion: appstudio.redhat.com/v1beta2
kind: NudgeConfig
metadata: {name: nudge-config, namespace: team}
spec:
  nudges: # by hand
  - {from: op1, to: bundle, mode: validated}
"""


def test_nudges_that_konflux_ignores_are_reported() -> None:
    """C1."""
    answer = run([OP1, OP2, BUNDLE, CONFIG.replace("from: op1", "from: op2")], "validate")
    (message,) = answer.messages("C10")
    assert "op1: Konflux ignores its nudging of bundle, because there is a NudgeConfig without this edge" in message
    assert run([OP1, OP2, BUNDLE, CONFIG], "validate").messages("C10") == []


def test_a_list_is_read_as_its_items() -> None:
    """C10: as `kubectl get -o yaml` writes it; what would have to be edited there is reported."""
    inside = "".join(f"- {textwrap.indent(item, '  ')[2:]}" for item in (OP1, OP2, BUNDLE))
    whole = f"apiVersion: v1\nkind: List\nitems:\n{inside}metadata:\n  resourceVersion: ''\n"
    answer = run([whole], "validate")
    assert answer.exit_code == 0
    assert answer.messages("C3") == []
    answer = run([whole], "configure")
    assert answer.items == [whole]
    assert all("it is in a List, which is not edited" in message for message in answer.messages("C10"))
    assert answer.messages("C10")
