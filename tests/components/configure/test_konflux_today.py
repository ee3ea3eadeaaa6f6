"""C10: what Konflux has today besides Components and their nudges."""

from __future__ import annotations

import textwrap

import yaml

from components.configure.resources import BUNDLE, CATALOG, OP1, OP2, RELEASE, SCENARIO, expect
from components.observations import run

GROUP = """\
apiVersion: appstudio.redhat.com/v1beta2
kind: ComponentGroup
metadata: {name: operator, namespace: team}
spec:
  components:
  - name: op1
  - {name: bundle, componentVersion: {name: v1}}
"""
CONFIG = """\
apiVersion: appstudio.redhat.com/v1beta2
kind: NudgeConfig
metadata: {name: nudge-config, namespace: team}
spec:
  nudges: # by hand
  - {from: op1, to: bundle, mode: validated}
"""


def of_group(text: str, name: str = "operator") -> str:
    """A scenario or a plan of a ComponentGroup in place of an application."""
    lines = [f"  componentGroup: {name}" if "application:" in line else line for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def spec_of(text: str) -> dict[str, object]:
    found = yaml.safe_load(text)["spec"]
    assert isinstance(found, dict)
    return found


def test_scenarios_and_releases_of_a_group_are_about_its_components() -> None:
    """R14, R16: of a ComponentGroup, not of all Components that name no application."""
    items = [OP1, OP2, BUNDLE, CATALOG, GROUP, of_group(SCENARIO), of_group(RELEASE)]
    answer = expect(items)
    names = [one["name"] for one in spec_of(answer.items[-2])["contexts"]]  # type: ignore[attr-defined]
    assert names[:2] == ["component_bundle", "group"]
    release = yaml.safe_load(answer.items[-1])["metadata"]["annotations"]
    assert release["release.appstudio.openshift.io/auto-release"] == 'updatedComponentIs("bundle")'


def test_groups_that_are_not_in_the_package_are_left() -> None:
    """R14."""
    items = [OP1, OP2, BUNDLE, of_group(SCENARIO, "unknown"), of_group(RELEASE, "unknown")]
    assert expect(items).items[-2:] == items[-2:]


def test_a_nudge_config_that_is_there_is_kept_up() -> None:
    """R1: Konflux obeys it alone, so edges go there without being asked for; what was chosen stays."""
    answer = expect([OP1, OP2, BUNDLE, CONFIG])
    nudges = spec_of(answer.items[-1])["nudges"]
    assert nudges == [
        {"from": "op1", "to": "bundle", "mode": "validated"},
        {"from": "op2", "to": "bundle", "mode": "immediate"},
    ]
    chosen = expect([OP1, OP2, BUNDLE, CONFIG], "{emit: {nudgeMode: validated}}")
    assert [one["mode"] for one in spec_of(chosen.items[-1])["nudges"]] == ["validated"] * 2  # type: ignore[attr-defined]


def test_nudges_that_konflux_ignores_are_reported() -> None:
    """C1."""
    answer = run([OP1, OP2, BUNDLE, CONFIG.replace("from: op1", "from: op2")], "validate")
    (message,) = answer.messages("C10")
    assert "op1: Konflux ignores that it nudges bundle, because there is a NudgeConfig without this edge" in message
    assert run([OP1, OP2, BUNDLE, CONFIG], "validate").messages("C10") == []


def test_a_nudge_config_holds_256() -> None:
    """C10: one that Konflux would refuse is not written."""
    many = [BUNDLE.replace("name: bundle", f"name: b{number}") for number in range(257)]
    names = "\n".join(f"    - b{number}" for number in range(257))
    op1 = OP1.replace("    - bundle", names)
    config = "{emit: {buildNudgesRef: false, nudgeConfig: true}}"
    answer = run([op1, *many], "configure", config)
    assert "it would have 257 nudges, but Konflux accepts 256" in answer.messages("C10")[0]
    assert "NudgeConfig" not in "".join(answer.items)
    answer = run([op1, *many, CONFIG], "configure", config)
    assert answer.items[-1] == CONFIG


def test_a_list_is_read_as_its_items() -> None:
    """C10: as `kubectl get -o yaml` writes it; what would have to be edited there is reported."""
    inside = "".join(f"- {textwrap.indent(one, '  ')[2:]}" for one in (OP1, OP2, BUNDLE))
    whole = f"apiVersion: v1\nkind: List\nitems:\n{inside}metadata:\n  resourceVersion: ''\n"
    answer = run([whole], "validate")
    assert answer.exit_code == 0
    assert answer.messages("C3") == []
    answer = run([whole], "configure")
    assert answer.items == [whole]
    assert all("it is in a List, which is not edited" in one for one in answer.messages("C10"))
    assert answer.messages("C10")
