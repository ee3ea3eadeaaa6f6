"""What every run pays before it does anything: classes, regular expressions, imports."""

from __future__ import annotations

import copy
import gc
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from krm_merge.__main__ import main as program_main
from krm_merge.startup import fresh, frozen, pattern, replace

HEAVY = (
    "ast",
    "click",
    "ctypes",
    "dataclasses",
    "http",
    "inspect",
    "pickle",
    "pydantic",
    "rich",
    "subprocess",
    "tempfile",
)
"""What costs milliseconds to import, and is not needed to merge one Kptfile."""
OF_COMMANDS = ("krm_merge.packages", "krm_merge.policy", "krm_merge.report", "krm_merge.resolve")
"""What the function never imports."""


@frozen
class Point:
    """A place."""

    x: int
    y: int = 0
    names: list[str] = fresh(factory=list)

    @property
    def sum(self) -> int:
        return self.x + self.y


@frozen
class Range:
    """A value with a check."""

    start: int
    stop: int = 10
    steps: list[int] = fresh(factory=list)

    def __post_init__(self) -> None:
        if self.start > self.stop:
            raise ValueError("empty")


@frozen
class Same:
    x: int

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def test_a_frozen_class_holds_its_fields() -> None:
    point = Point(1, names=["a"])
    assert (point.x, point.y, point.names, point.sum) == (1, 0, ["a"], 1)
    assert Point(1).names is not Point(1).names
    assert repr(point) == "Point(x=1, y=0, names=['a'])"
    assert Point.__doc__ == "A place."
    match point:
        case Point(x, y):
            assert (x, y) == (1, 0)


def test_frozen_classes_compare_by_their_fields_unless_they_say_otherwise() -> None:
    assert Point(1, 2) == Point(1, y=2)
    assert Point(1, 2) != Point(2, 1)
    other: object = (1, 0, [])
    assert Point(1) != other
    assert hash(frozenset({Point(1, 2, ())})) == hash(frozenset({Point(1, 2, ())}))  # type: ignore[arg-type]
    assert Same(1) != Same(1)


def test_values_are_replaced_copied_and_pickled() -> None:
    point = Point(1, 2, ["a"])
    assert replace(point, y=3) == Point(1, 3, ["a"])
    assert copy.deepcopy(point) == point
    assert pickle.loads(pickle.dumps(point)) == point


def test_a_class_with_a_check_has_defaults_and_refuses_wrong_fields() -> None:
    assert Range(1).steps is not Range(1).steps
    assert Range(1, steps=[3]) == Range(1, 10, [3])
    assert replace(Range(1), stop=4).stop == 4
    with pytest.raises(ValueError, match="empty"):
        Range(11)
    for values, named in (((), {}), ((1, 2, [], 4), {}), ((1,), {"start": 2}), ((1,), {"z": 2})):
        with pytest.raises(TypeError):
            Range(*values, **named)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="its start cannot change"):
        Range(1).start = 2  # type: ignore[misc]


@pytest.mark.parametrize("name", ["x", "other"])
def test_a_value_does_not_change(name: str) -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match=f"its {name} cannot change"):
        setattr(point, name, 2)
    with pytest.raises(AttributeError, match="its x cannot change"):
        del point.x


@pytest.mark.parametrize(
    ("values", "named", "problem"),
    [
        ((), {}, "Point lacks x"),
        ((1, 2, [], 4), {}, "Point has 3 fields; 4 values are given"),
        ((1,), {"x": 2}, "or has it already: x"),
        ((1,), {"z": 2}, "no such field, or has it already: z"),
        ((1, 2, []), {"z": 2}, "no such field, or has it already: z"),
    ],
)
def test_wrong_fields_are_refused(values: tuple[object, ...], named: dict[str, object], problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        Point(*values, **named)  # type: ignore[arg-type]


def test_a_pattern_is_compiled_when_it_is_used() -> None:
    broken = pattern("(")
    with pytest.raises(re.error):
        broken.match("")
    digits = pattern(rb"\d+")
    assert digits.findall(b"1 a 23") == [b"1", b"23"]
    assert digits.pattern == rb"\d+"


ONE_KPTFILE = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: shop
  pipeline:
    mutators:
    - image: gcr.io/kpt-fn/set-labels:v0.1.0 # ours
      configMap: {app: shop, tier: "web"}
    - image: gcr.io/kpt-fn/set-namespace:v0.1.0
      configMap:
        namespace: here
functionConfig:
  apiVersion: fn.kpt.dev/v1alpha1
  kind: MergePackage
  metadata:
    name: merge
  original: |
    apiVersion: kpt.dev/v1
    kind: Kptfile
    metadata:
      name: shop
    pipeline:
      mutators:
      - image: gcr.io/kpt-fn/set-labels:v0.1.0
        configMap: {app: shop}
  upstream: |
    apiVersion: kpt.dev/v1
    kind: Kptfile
    metadata:
      name: shop
    pipeline:
      mutators:
      - image: gcr.io/kpt-fn/set-labels:v0.2.0
        configMap: {app: store}
      - image: gcr.io/kpt-fn/set-annotations:v0.1.0 # new
        configMap:
          contact: "it's me"
"""


def run(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, input=ONE_KPTFILE, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout


def test_one_kptfile_needs_no_heavy_imports() -> None:
    code = f"""
import sys
from krm_merge.__main__ import main
sys.argv[1:] = []
assert main() == 0
print(sorted(set({HEAVY!r}) & set(sys.modules)), [name for name in sys.modules if name.startswith({OF_COMMANDS!r})])
"""
    merged, _, imported = run(code).removesuffix("\n").rpartition("\n")
    assert "set-labels:v0.2.0" in merged
    assert imported == "[] []"


FOR_GIT = ["merge-driver", "--marker-size", "7", "--", "base/a.yaml", "ours/a.yaml", "theirs/a.yaml", "a.yaml"]


@pytest.mark.parametrize(
    ("command", "ours", "code", "unwanted"),
    [
        # Git starts the driver for each file that both sides changed.
        (FOR_GIT, "base", 0, {"click", "hashlib", "pydantic", "rich"}),
        (FOR_GIT, "ours", 1, {"pydantic", "rich", "krm_merge.resolve.api"}),
        (["merge", "base", "theirs", "ours"], "base", 0, {"pydantic", "rich"}),
    ],
    ids=["for git", "for git, in conflict", "of folders"],
)
def test_a_merge_imports_what_it_needs(
    command: list[str], ours: str, code: int, unwanted: set[str], tmp_path: Path
) -> None:
    for name, value in (("base", "base"), ("ours", ours), ("theirs", "theirs")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.yaml").write_text(
            f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: {value}\n"
        )
    program = (
        f"import atexit, sys; from krm_merge.__main__ import main; sys.argv[1:] = {command!r}; "
        f"atexit.register(lambda: print(sorted({unwanted!r} & sys.modules.keys()))); sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (code, "[]")


def test_a_worker_of_a_fleet_needs_no_models() -> None:
    """Every worker would have 9 MB more."""
    code = "import sys, krm_merge.fleet.worker; print(sorted({'pydantic', 'rich'} & sys.modules.keys()))"
    assert run(code) == "[]\n"


def test_importing_compiles_no_regular_expression_of_ours() -> None:
    code = """
import re
compiled = []
compile = re.compile
re.compile = lambda *arguments: compiled.append(arguments) or compile(*arguments)
import yaml
del compiled[:]
import krm_merge.functions.merge_package
print(compiled)
"""
    assert run(code) == "[]\n"


@pytest.mark.parametrize(
    ("command", "collects"), [("fleet", True), ("mergetool", True), ("resolve", True), ("merge", False), ("", False)]
)
def test_only_commands_that_live_long_collect_garbage(
    monkeypatch: pytest.MonkeyPatch, command: str, collects: bool
) -> None:
    states: list[bool] = []

    def run(_: list[str]) -> int:
        states.append(gc.isenabled())
        return 0

    monkeypatch.setattr("krm_merge.__main__._run", run)
    monkeypatch.setattr(sys, "argv", ["krm-merge", *filter(None, [command])])
    try:
        assert program_main() == 0
    finally:
        gc.unfreeze()
        gc.enable()
    assert states == [collects]
