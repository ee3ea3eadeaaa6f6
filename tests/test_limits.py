"""Limits that small input would otherwise blow up: each gives one error with its remedy, and can be raised."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from krm_merge import KrmMergeError
from krm_merge.functions import process
from krm_merge.krm import program
from krm_merge.policy import edit_policy

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
THING = "- {apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, a: {x: 1}}\n"
CONFIG = "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  metadata: {name: c}\n"
PATCHES = f"{CONFIG}  kind: PatchResources\n  patches:\n"
KPTFILE = "{apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: shop}}"
CONFIG_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
MERGE = f"{CONFIG}  kind: MergePackage\n"
POLICY = "- {apiVersion: fn.kpt.dev/v1alpha1, kind: MergePolicy, metadata: {name: p}, %s: [%s]}\n"
MEMORY = 200_000_000
"""Bytes within which a run refuses its input."""
COUNT = 2 * program.WORTH_IT
"""Resources that two processors share."""
SECONDS = 60
"""Of the processor, after which a run hangs."""
MEASURED = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}))
from krm_merge.__main__ import main
code = main()
sys.stdout.flush()
try:
    # The peak that `getrusage` gives begins with that of the process which started this one.
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) * 1024
except FileNotFoundError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(peak, file=sys.stderr)
sys.exit(code)
"""
"""Runs the function, and prints the most memory that it took in bytes."""
TOO_MANY_COPIES = (
    "copies make more than 50000 nodes; write the values out, or raise the limit with KRM_MERGE_MAX_COPIED_NODES"
)
NESTED = "\n".join(f"{{op: copy, from: /a, path: /a{'/b' * at}}}" for at in range(1, 30))
DOUBLED = "\n".join(f"{{op: copy, from: /a, path: /a/b{at}}}" for at in range(100))


def patch(operations: str) -> str:
    """What a JSON patch of a thing ends with: its error, or its output."""
    outcome = process(f"{HEAD}items:\n{THING}{PATCHES}  - target: {{kind: Thing}}\n    patch: |\n{operations}".encode())
    return outcome.message or outcome.output.decode()


def copies(count: int) -> str:
    """Operations that each double what there is."""
    return "".join(f"      - {{op: copy, from: /a, path: /a/b{at}}}\n" for at in range(count))


def refuse(text: str, **environment: str) -> str:
    """What the function says of an input that it refuses at once: it needs little time and memory."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED],
        input=text,
        capture_output=True,
        encoding="utf-8",
        env=os.environ | environment,
        check=False,
    )
    message, _, peak = done.stderr.rstrip("\n").rpartition("\n")
    assert done.returncode == 1, done
    assert int(peak) < MEMORY
    return message


def transform(plugins: str) -> str:
    """A list whose things these plugins transform."""
    return f"{HEAD}items:\n{THING}{CONFIG}  kind: TransformResources\n  plugins:\n{plugins}"


def inline(operations: str, name: str = "p") -> str:
    """A plugin without code: its operations, one a line."""
    ops = "".join(f"      - {line}\n" for line in operations.splitlines())
    return f"  - name: {name}\n    patches:\n    - target: {{kind: Thing}}\n      ops:\n{ops}"


@pytest.mark.parametrize("count", [20, 100])
def test_copies_in_a_patch(count: int) -> None:
    operations = "".join(f"      {line}\n" for line in DOUBLED.splitlines()[:count])
    config = f"{PATCHES}  - target: {{kind: Thing}}\n    patch: |\n{operations.replace('{', '- {')}"
    message = refuse(f"{HEAD}items:\n{THING}{config}")
    assert message.startswith("Thing a: patches[0]: operation 15, ")
    assert message.endswith(TOO_MANY_COPIES)


@pytest.mark.parametrize(
    ("operations", "limit"),
    [(DOUBLED, TOO_MANY_COPIES), (NESTED, "the value that it copies is nested deeper than 126 levels")],
)
def test_copies_in_a_plugin_without_code(operations: str, limit: str) -> None:
    text = transform(inline(operations))
    message = refuse(text)
    assert message.startswith("p: copy /a/b")
    assert message.endswith(f" from /a: {limit} (Thing a)")


def test_copies_that_a_program_answers(tmp_path: Path) -> None:
    versions = {"requestVersion": ["v1"], "responseVersion": ["v1"]}
    answer = versions | {"patches": [{"op": "copy", "from": "/a", "path": f"/a/b{at}"} for at in range(100)]}
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ncat >/dev/null\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    program.chmod(0o555)
    tmp_path.chmod(0o555)
    config = "  - name: p\n    exec: {file: program}\n"
    message = refuse(transform(config), KRM_MERGE_PLUGIN_DIR=str(tmp_path))
    assert message.startswith("p: copy /a/b")
    assert message.endswith(f" from /a: {TOO_MANY_COPIES} (Thing a)")


def test_copies_that_many_plugins_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each plugin copies what the original has, whatever the others made of it."""
    plugins = "".join(inline(line, f"p{at}") for at, line in enumerate(DOUBLED.splitlines()[:4]))
    text = transform(plugins).encode()
    # Four times 2 nodes.
    monkeypatch.setenv("KRM_MERGE_MAX_COPIED_NODES", "7")
    assert "copies make more than 7 nodes" in process(text).message
    monkeypatch.setenv("KRM_MERGE_MAX_COPIED_NODES", "8")
    assert process(text).message == ""


def test_copies_that_the_patches_of_a_resource_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each patch of a resource copies what is left of its limit."""
    monkeypatch.setenv("KRM_MERGE_MAX_COPIED_NODES", "5")
    patch = "  - target: {kind: Thing}\n    patch: |\n" + copies(1)
    text = f"{HEAD}items:\n{THING}{PATCHES}{patch}{patch.replace('/a/b0', '/c')}"
    assert "patches[1]: operation 1, " in process(text.encode()).message
    monkeypatch.setenv("KRM_MERGE_MAX_COPIED_NODES", "6")
    assert process(text.encode()).message == ""


@pytest.mark.parametrize("processors", [1, 2])
@pytest.mark.parametrize("kind", ["PatchResources", "TransformResources"])
def test_copies_in_all_resources(kind: str, processors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on any number of processors: each copies 2 nodes, and 4 to see that a second run makes."""
    monkeypatch.setattr(program, "processors", lambda: processors)
    things = "".join(THING.replace("name: a", f"name: a{at}") for at in range(COUNT))
    patch = f"{PATCHES}  - target: {{kind: Thing}}\n    patch: |\n{copies(1)}"
    plugin = transform(inline(copies(1).strip("- \n"))).partition(THING)[2]
    text = f"{HEAD}items:\n{things}{patch if kind == 'PatchResources' else plugin}".encode()
    monkeypatch.setenv("KRM_MERGE_MAX_COPIED_NODES_IN_ALL", str(COUNT * 6 - 1))
    outcome = process(text)
    assert outcome.message == (
        f"copies in JSON patches make more than {COUNT * 6 - 1} nodes in all resources; write the values out, or raise "
        "the limit with KRM_MERGE_MAX_COPIED_NODES_IN_ALL"
    )
    assert outcome.output.startswith(f"{HEAD}items:\n{things}".encode())
    monkeypatch.setenv("KRM_MERGE_MAX_COPIED_NODES_IN_ALL", str(COUNT * 6))
    assert process(text).exit_code == 0


def test_copies_that_double_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    error = patch(copies(40))
    assert error.startswith("Thing a: patches[0]: operation ")
    assert error.endswith(
        "copies make more than 50000 nodes; write the values out, or raise the limit with KRM_MERGE_MAX_COPIED_NODES"
    )
    # a has 2 nodes, then 4, then 8.
    monkeypatch.setenv("KRM_MERGE_MAX_COPIED_NODES", "13")
    assert "copies make more than 13 nodes" in patch(copies(3))
    monkeypatch.setenv("KRM_MERGE_MAX_COPIED_NODES", "14")
    assert "b1: {x: 1, b0: {x: 1}}" in patch(copies(3))


def test_patches_that_nest_deeper_than_anybody_reads() -> None:
    operations = "".join(f"      - {{op: add, path: /a{'/b' * at}, value: {{}}}}\n" for at in range(1, 300))
    assert "the patch makes an object that is nested deeper than 128 levels" in patch(operations)


def test_targets_that_name_no_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    things = "".join(THING.replace("name: a", f"name: a{at}") for at in range(3))
    targets = "".join(f"  - target: {{name: 'a[{at}]'}}\n    patch: '{{b: 1}}'\n" for at in range(2))
    text = f"{HEAD}items:\n{things}{PATCHES}{targets}".encode()
    monkeypatch.setenv("KRM_MERGE_MAX_COMPARISONS", "5")
    assert process(text).message == (
        "functionConfig: 2 targets without the name of a resource and 3 resources are more than 5 comparisons; "
        "give names that are not expressions, or raise the limit with KRM_MERGE_MAX_COMPARISONS"
    )
    monkeypatch.setenv("KRM_MERGE_MAX_COMPARISONS", "6")
    assert process(text).exit_code == 0


def test_inline_patches_of_a_transformation(monkeypatch: pytest.MonkeyPatch) -> None:
    config = PATCHES.replace("PatchResources", "TransformResources").replace("  patches:", "  plugins:")
    plugin = "  - name: p\n    patches:\n    - target: {name: 'a.*'}\n      ops: [{op: add, path: /b, value: c}]\n"
    monkeypatch.setenv("KRM_MERGE_MAX_COMPARISONS", "0")
    assert "are more than 0 comparisons" in process(f"{HEAD}items:\n{THING}{config}{plugin}".encode()).message


def test_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = "  rules:\n" + "  - {kind: Thing, onConflict: local}\n" * 1001
    text = f"{HEAD}items:\n- {KPTFILE}\n{MERGE}{rules}  original: '{KPTFILE}'\n  upstream: '{KPTFILE}'\n".encode()
    assert process(text).message == (
        "functionConfig: rules: 1001 rules, more than 1000; let one rule cover more, or raise the limit with "
        "KRM_MERGE_MAX_RULES"
    )
    monkeypatch.setenv("KRM_MERGE_MAX_RULES", "1001")
    assert process(text).exit_code == 0


def test_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    side = f"|\n    ---\n    {KPTFILE}\n    ---\n    {CONFIG_MAP}\n"
    text = f"{HEAD}items:\n- {KPTFILE}\n- {CONFIG_MAP}\n{MERGE}  original: {side}  upstream: {side}".encode()
    monkeypatch.setenv("KRM_MERGE_MAX_DOCUMENTS", "1")
    assert "more than 1 documents; split it, or raise the limit with KRM_MERGE_MAX_DOCUMENTS" in process(text).message
    monkeypatch.setenv("KRM_MERGE_MAX_DOCUMENTS", "2")
    assert process(text).message == ""


@pytest.mark.parametrize("document", ["---\n\n", "---\r\n", "---\r", "--- {}\n", "a\n...\n", "---\nx: 1\n...\n"])
def test_documents_are_counted_before_they_are_read(document: str) -> None:
    assert refuse(document * 1_000_000) == (
        "stdin: not a ResourceList: holds more than 100000 documents; split it, or raise the limit with "
        "KRM_MERGE_MAX_DOCUMENTS"
    )


def test_dashes_that_separate_no_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRM_MERGE_MAX_DOCUMENTS", "1")
    note = "# ---\n#...\n" * 9 + "a: |\n  ---\n  ...\n"
    assert process(f"---\n{note}\n{HEAD}items: []\n".encode()).message == ""


@pytest.mark.parametrize("resolution", ["{}", "3", "{fingerprint: 'x', nature: both-changed, choice: local}"])
def test_resolutions(resolution: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = POLICY % ("resolutions", ", ".join([resolution] * 20_000))
    text = f"{HEAD}items:\n- {KPTFILE}\n{policy}{MERGE}  original: '{KPTFILE}'\n  upstream: '{KPTFILE}'\n"
    problem = (
        "resolutions: 20000 resolutions, more than 10000; remove those that match no conflict, or raise the limit with"
    )
    assert refuse(text).endswith(f"{problem} KRM_MERGE_MAX_RESOLUTIONS")
    # What is wrong with each is said of the first.
    monkeypatch.setenv("KRM_MERGE_MAX_RESOLUTIONS", "20000")
    message = process(text.encode()).message
    assert ": resolutions[0]" in message
    assert " more" in message
    assert len(message) < 2_000


def test_choices_that_nobody_could_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRM_MERGE_MAX_RESOLUTIONS", "1")
    first = edit_policy(None, "policy.yaml", [{"path": "a"}], [])
    assert b"path: a" in edit_policy(first, "policy.yaml", [{"path": "a"}], []).data
    with pytest.raises(KrmMergeError, match=r"^policy.yaml: resolutions: 2 resolutions, more than 1; remove those"):
        edit_policy(first, "policy.yaml", [{"path": "b"}], [])


def test_rules_of_a_policy() -> None:
    policy = POLICY % ("rules", ", ".join(["{onConflict: local}"] * 1_001))
    text = f"{HEAD}items:\n- {KPTFILE}\n{policy}{MERGE}  original: '{KPTFILE}'\n  upstream: '{KPTFILE}'\n"
    assert ": rules: 1001 rules, more than 1000; let one rule cover more, or raise" in process(text.encode()).message


def test_a_limit_that_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRM_MERGE_MAX_COPIED_NODES", "many")
    error = "KRM_MERGE_MAX_COPIED_NODES is 'many' in the environment; give a whole number"
    assert error in patch(copies(1))
