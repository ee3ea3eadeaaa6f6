"""Bad input: exit 1, one line that names the place, nothing written (rule W4)."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from checkout import ROOT
from e2e.hosts import SECONDS
from krm_merge.functions import process

SOURCES = ROOT / "fn"
DEEP = 10_000

HEAD = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
"""
KPTFILE = """\
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: pkg
    annotations:
      internal.config.kubernetes.io/path: Kptfile   # as it came
  info:
    description: mine
"""
CONFIG_MAP = """\
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: other, annotations: {internal.config.kubernetes.io/path: 'other.yaml'}}
  data: {a:   "1"}
"""
CONFIG_HEAD = """\
functionConfig:
  apiVersion: fn.kpt.dev/v1alpha1
  kind: MergePackage
  metadata:
    name: merge
"""
PACKAGE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: pkg
info:
  description: a
"""
NEW_PACKAGE = PACKAGE.replace("description: a", "description: a\n  site: new")
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
"""
BOMB = "extra:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
PYTHON_TAG = 'extra: !!python/object/apply:os.system ["exit 7"]\n'
DUPLICATE = "info:\n  description: again\n"
DEEP_BLOCK = "extra:\n" + "- " * DEEP + "x\n"
DEEP_FLOW_LIST = "extra: " + "[" * DEEP + "]" * DEEP + "\n"
DEEP_FLOW_MAP = "extra: " + "{a: " * DEEP + "1" + "}" * DEEP + "\n"


def indent(text: str, by: int) -> str:
    return "".join(" " * by + line for line in text.splitlines(keepends=True))


def text_field(name: str, text: str) -> str:
    return f"  {name}: |\n" + indent(text, 4)


def config(original: str | None = PACKAGE, upstream: str | None = NEW_PACKAGE, more: str = "") -> str:
    """A functionConfig; None leaves the field out, `more` are further lines of it."""
    text = CONFIG_HEAD
    if original is not None:
        text += text_field("original", original)
    if upstream is not None:
        text += text_field("upstream", upstream)
    return text + indent(more, 2)


def kptfile(more: str) -> str:
    return KPTFILE + indent(more, 2)


def resource_list(items: str = KPTFILE + CONFIG_MAP, function_config: str | None = None) -> bytes:
    return (HEAD + "items:\n" + items + (config() if function_config is None else function_config)).encode()


def items_of(data: bytes) -> bytes:
    return data[data.index(b"items:\n") : data.index(b"functionConfig:")]


def results_of(output: bytes) -> list[dict[str, Any]]:
    """The results; the items before them may be anything, even no text."""
    at = output.rfind(b"\nresults:")
    if at < 0:
        return []
    results: list[dict[str, Any]] = yaml.safe_load(output[at + 1 :].decode())["results"]
    return results


def text_of(result: dict[str, Any]) -> str:
    """All that a result says about the place and the problem."""
    return " ".join(
        (result.get("file", {}).get("path", ""), result.get("field", {}).get("path", ""), result["message"])
    )


@dataclass(frozen=True)
class Bad:
    """A bad input. One error must say all of `says`; `readable` tells whether the list itself can be read."""

    name: str
    data: bytes
    says: tuple[str, ...]
    readable: bool = True


UNREADABLE = [
    Bad("not YAML", b"apiVersion: config.kubernetes.io/v1\nkind: [ResourceList\n", ("stdin",), False),
    Bad("text that is no mapping", b"hello there\n", ("stdin", "ResourceList", "kpt fn source DIR"), False),
    Bad("a list", b"- a\n- b\n", ("stdin", "ResourceList", "kpt fn source DIR"), False),
    Bad("binary rubbish", b"\x00\x01\x02\x89PNG\r\n\x1a\n", ("stdin",), False),
    Bad("a Kptfile instead of a ResourceList", PACKAGE.encode(), ("stdin", "kind", "Kptfile", "ResourceList"), False),
    Bad("no kind", b"apiVersion: config.kubernetes.io/v1\nitems: []\n", ("stdin", "kind", "ResourceList"), False),
    Bad(
        "an apiVersion that nobody knows",
        b"apiVersion: config.kubernetes.io/v9\nkind: ResourceList\nitems: []\n",
        ("stdin", "apiVersion", "config.kubernetes.io/v9", "config.kubernetes.io/v1"),
        False,
    ),
    Bad("no apiVersion", b"kind: ResourceList\nitems: []\n", ("stdin", "apiVersion"), False),
    Bad("no items", (HEAD + config()).encode(), ("stdin", "items"), False),
    # An item that ends in the middle of a quoted text takes the rest of the list with it.
    Bad("an open quote in an item", resource_list(kptfile("extra: 'open\n") + CONFIG_MAP), ("stdin", "line"), False),
    Bad("UTF-16", resource_list().decode().encode("utf-16"), ("stdin", "UTF-8"), False),
    Bad("no UTF-8 in the kind", b"apiVersion: config.kubernetes.io/v1\nkind: \xff\xfe\nitems: []\n", ("stdin",), False),
]

REFUSED = [
    Bad("no Kptfile among the items", resource_list(CONFIG_MAP), ("Kptfile",)),
    Bad("two root Kptfiles", resource_list(KPTFILE + CONFIG_MAP + KPTFILE), ("Kptfile",)),
    Bad("original missing", resource_list(function_config=config(original=None)), ("functionConfig", "original")),
    Bad("upstream missing", resource_list(function_config=config(upstream=None)), ("functionConfig", "upstream")),
    Bad(
        "original and upstream missing",
        resource_list(function_config=config(original=None, upstream=None)),
        ("functionConfig", "original"),
    ),
    Bad(
        "original is a Deployment",
        resource_list(function_config=config(original=DEPLOYMENT)),
        ("functionConfig", "original", "Kptfile"),
    ),
    Bad(
        "original is not YAML",
        resource_list(function_config=config(original=PACKAGE + "extra: [1\n")),
        ("functionConfig", "original", "line"),
    ),
    Bad(
        "upstream is not YAML",
        resource_list(function_config=config(upstream=PACKAGE + "extra: [1\n")),
        ("functionConfig", "upstream", "line"),
    ),
    Bad(
        "original is a word", resource_list(function_config=config(original="hello\n")), ("functionConfig", "original")
    ),
    Bad(
        "an unknown field of the functionConfig",
        resource_list(function_config=config(more="onConflct: local\n")),
        ("functionConfig", "onConflct"),
    ),
    Bad(
        "onConflict is a number",
        resource_list(function_config=config(more="onConflict: 3\n")),
        ("functionConfig", "onConflict"),
    ),
    Bad(
        "onConflict is another word",
        resource_list(function_config=config(more="onConflict: sometimes\n")),
        ("functionConfig", "onConflict", "upstream", "local", "fail"),
    ),
    Bad(
        "original is a number",
        resource_list(function_config=config(original=None, more="original: 5\n")),
        ("functionConfig", "original"),
    ),
    Bad("rules is a mapping", resource_list(function_config=config(more="rules: {}\n")), ("functionConfig", "rules")),
    Bad(
        "an unknown field of a rule",
        resource_list(function_config=config(more="rules:\n- {pth: spec, onConflict: local}\n")),
        ("functionConfig", "rules", "pth"),
    ),
    Bad(
        "a rule with a path that cannot be read",
        resource_list(function_config=config(more='rules:\n- {path: "spec.containers[name=web", onConflict: local}\n')),
        ("functionConfig", "rules", "path", "spec.containers[name=web"),
    ),
    Bad(
        "listKeys with a path that cannot be read",
        resource_list(
            function_config=config(
                more='listKeys:\n- {apiVersion: example.com/v1, kind: Widget, path: "spec..parts", keys: [name]}\n'
            )
        ),
        ("functionConfig", "listKeys", "path", "spec..parts"),
    ),
    Bad(
        "an unknown kind of functionConfig",
        resource_list(function_config=config().replace("kind: MergePackage", "kind: MergePackages")),
        ("functionConfig", "kind", "MergePackages", "MergePackage"),
    ),
    Bad(
        "a ConfigMap that names an unknown function",
        resource_list(
            function_config="functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n"
            "  data: {function: Merge}\n"
        ),
        ("functionConfig", "data.function", "Merge"),
    ),
    Bad(
        "a ConfigMap with a wrong onConflict",
        resource_list(
            function_config="functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n  data:\n"
            + indent(text_field("original", PACKAGE) + text_field("upstream", NEW_PACKAGE), 2)
            + "    onConflict: never\n"
        ),
        ("functionConfig", "data.onConflict"),
    ),
    Bad(
        "a functionConfig that is a word", resource_list(function_config="functionConfig: hello\n"), ("functionConfig",)
    ),
    Bad(
        "the same key twice in the functionConfig",
        resource_list(function_config=config(more="onConflict: local\nonConflict: fail\n")),
        ("functionConfig", "onConflict"),
    ),
    Bad("the same key twice in the Kptfile", resource_list(kptfile(DUPLICATE) + CONFIG_MAP), ("Kptfile", "info")),
    Bad(
        "the same key twice in original",
        resource_list(function_config=config(original=PACKAGE + DUPLICATE)),
        ("functionConfig", "original", "info"),
    ),
    Bad(
        "the same key twice in upstream",
        resource_list(function_config=config(upstream=PACKAGE + DUPLICATE)),
        ("functionConfig", "upstream", "info"),
    ),
    Bad(
        "no UTF-8 in the Kptfile",
        resource_list().replace(b"description: mine", b"description: m\xe9ine"),
        ("Kptfile", "UTF-8"),
    ),
    Bad(
        "no UTF-8 in original",
        resource_list().replace(b"description: a\n", b"description: \xe9\n", 1),
        ("functionConfig", "UTF-8"),
    ),
    Bad("a Python tag in the Kptfile", resource_list(kptfile(PYTHON_TAG) + CONFIG_MAP), ("Kptfile", "python")),
    Bad(
        "a Python tag in original",
        resource_list(function_config=config(original=PACKAGE + PYTHON_TAG)),
        ("functionConfig", "original", "python"),
    ),
    Bad(
        "an unknown anchor in the Kptfile",
        resource_list(kptfile("extra: *nowhere\n") + CONFIG_MAP),
        ("Kptfile", "nowhere"),
    ),
]

EXPENSIVE = [
    Bad("an alias bomb in the Kptfile", resource_list(kptfile(BOMB) + CONFIG_MAP), ("Kptfile",)),
    Bad(
        "an alias bomb in original",
        resource_list(function_config=config(PACKAGE + BOMB)),
        ("functionConfig", "original"),
    ),
    Bad("deep lists in the Kptfile", resource_list(kptfile(DEEP_BLOCK) + CONFIG_MAP), ("Kptfile",)),
    Bad("deep lists on one line in the Kptfile", resource_list(kptfile(DEEP_FLOW_LIST) + CONFIG_MAP), ("Kptfile",)),
    Bad("deep maps on one line in the Kptfile", resource_list(kptfile(DEEP_FLOW_MAP) + CONFIG_MAP), ("Kptfile",)),
]


def assert_one_line(message: str) -> None:
    assert message.strip()
    assert "\n" not in message.strip()
    assert "Traceback" not in message


def assert_refused(bad: Bad, output: bytes, message: str) -> None:
    assert_one_line(message)
    if not bad.readable:
        assert output == b""
        assert all(word in message for word in bad.says), message
        return
    assert items_of(bad.data) in output
    errors = [result for result in results_of(output) if result["severity"] == "error"]
    assert errors
    for error in errors:
        assert_one_line(error["message"])
    assert any(all(word in text_of(error) for word in bad.says) for error in errors), errors
    # What stderr says first is one of the errors: the place comes with it.
    assert bad.says[0] in message


def run(data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """The program as the image starts it."""
    return subprocess.run(
        [sys.executable, "-m", "krm_merge", *arguments],
        input=data,
        capture_output=True,
        timeout=SECONDS,
        check=False,
        env={"PYTHONPATH": str(SOURCES)},
    )


def name_of(bad: Bad) -> str:
    return bad.name


@pytest.mark.parametrize("bad", UNREADABLE + REFUSED, ids=name_of)
def test_bad_input_is_refused(bad: Bad) -> None:
    outcome = process(bad.data)
    assert outcome.exit_code == 1
    assert_refused(bad, outcome.output, outcome.message)


BY_PROGRAM = (
    "not YAML",
    "no items",
    "original missing",
    "the same key twice in the Kptfile",
    "no UTF-8 in the Kptfile",
)
FEW = [bad for bad in UNREADABLE + REFUSED if bad.name in BY_PROGRAM]


@pytest.mark.parametrize("bad", [*FEW, *EXPENSIVE], ids=name_of)
def test_bad_input_is_refused_by_the_program(bad: Bad) -> None:
    done = run(bad.data)
    assert done.returncode == 1
    stderr = done.stderr.decode()
    assert "Traceback" not in stderr
    assert_refused(bad, done.stdout, stderr.splitlines()[0])


@pytest.mark.parametrize("data", [b"", b"\n"], ids=["nothing", "an empty line"])
def test_empty_stdin_is_nothing_to_do(data: bytes) -> None:
    outcome = process(data)
    assert outcome.exit_code == 0
    assert [result["severity"] for result in results_of(b"\n" + outcome.output)] == ["info"]


def test_no_function_config_and_no_items_is_nothing_to_do() -> None:
    outcome = process((HEAD + "items: []\n").encode())
    assert outcome.exit_code == 0
    assert [result["severity"] for result in results_of(outcome.output)] == ["info"]


def test_no_function_config_but_items_is_refused() -> None:
    data = (HEAD + "items:\n" + KPTFILE).encode()
    outcome = process(data)
    assert outcome.exit_code == 1
    assert KPTFILE.encode() in outcome.output
    (error,) = results_of(outcome.output)
    assert error["severity"] == "error"
    assert all(word in error["message"] for word in ("functionConfig", "original", "upstream"))


@pytest.mark.parametrize(
    "item",
    [
        CONFIG_MAP.encode().replace(b'"1"', b'"\xe9\xff"'),
        (CONFIG_MAP + "  data: {a: twice}\n").encode(),
        (CONFIG_MAP + indent(PYTHON_TAG, 2)).encode(),
        (CONFIG_MAP + indent(BOMB, 2)).encode(),
        (CONFIG_MAP + indent(DEEP_FLOW_LIST, 2)).encode(),
    ],
    ids=["no UTF-8", "the same key twice", "a Python tag", "an alias bomb", "deep lists"],
)
def test_an_untouched_item_passes_whatever_it_holds(item: bytes) -> None:
    before, after = (HEAD + "items:\n" + KPTFILE).encode(), config().encode()
    done = run(before + item + after)
    assert done.returncode == 0, done.stderr
    assert item in done.stdout
    assert b"site: new" in done.stdout


def test_all_errors_of_a_function_config_are_reported() -> None:
    wrong = "onConflict: 3\noriginal: 5\nrules: {}\nonConflct: local\n"
    data = resource_list(function_config=config(original=None, more=wrong))
    outcome = process(data)
    assert outcome.exit_code == 1
    assert items_of(data) in outcome.output
    errors = [text_of(result) for result in results_of(outcome.output) if result["severity"] == "error"]
    for field in ("onConflict", "original", "rules", "onConflct"):
        assert any(field in error for error in errors), (field, errors)
    assert_one_line(outcome.message)


def test_errors_of_all_sources_are_reported_together() -> None:
    broken = config(original=PACKAGE + "extra: [1\n", upstream=PACKAGE + DUPLICATE)
    data = resource_list(kptfile(DUPLICATE) + CONFIG_MAP, broken)
    outcome = process(data)
    assert outcome.exit_code == 1
    assert items_of(data) in outcome.output
    errors = [text_of(result) for result in results_of(outcome.output) if result["severity"] == "error"]
    for words in (("functionConfig", "original"), ("functionConfig", "upstream"), ("Kptfile", "info")):
        assert any(all(word in error for word in words) for error in errors), (words, errors)


@pytest.mark.parametrize("kind", ["PatchResources", "TransformResources", "PlanComponentUpdates"])
def test_the_image_of_one_function_says_that_it_needs_a_function_config(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRM_MERGE_FUNCTION", kind)
    outcome = process((HEAD + "items: []\n").encode())
    message = f"functionConfig is missing; give {kind} one with --fn-config, or with configPath in the pipeline"
    assert (outcome.exit_code, outcome.message) == (1, message)


def test_a_config_map_has_no_fields_for_transform_resources() -> None:
    config_map = "functionConfig:\n  kind: ConfigMap\n  data: {function: TransformResources}\n"
    outcome = process(f"{HEAD}items: []\n{config_map}".encode())
    assert "is a ConfigMap, which has no fields for this function; give TransformResources one" in outcome.message
