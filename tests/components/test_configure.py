"""`mode: configure`, on resources as Konflux has them: what is written, and that nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from _pytest.mark import ParameterSet

from components.observations import Answer, run

OP1 = """\
# The first operand.
apiVersion: appstudio.redhat.com/v1alpha1
kind: Component
metadata:
  annotations:
    build.appstudio.openshift.io/status: '{"pac":{"state":"enabled"}}' # as the build-service has it
  name: op1
  namespace: team
spec:
  application:   app
  build-nudges-ref:   # who is nudged
    - bundle
  componentName: op1
  source:
    git:
      url: 'https://github.com/acme/op1.git'
      revision: main
"""
OP2 = """\
apiVersion: konflux-ci.dev/v1alpha1
kind: Component
metadata: {name: op2, namespace: team}
spec:
  application: app # of two
  source:
    url: https://github.com/acme/op2
    versions: [{name: main, revision: main, context: ./src}]
"""
BUNDLE = """\
apiVersion: appstudio.redhat.com/v1alpha1
kind: Component
metadata:
  name: bundle
  namespace: team
spec:
  application: app
  # What it is made of:
  dependsOn:
    - op2   # second
    - op1
  source: {git: {url: https://github.com/acme/bundle, revision: main}}
"""
CATALOG = BUNDLE.replace("name: bundle", "name: catalog").replace("acme/bundle", "acme/catalog")
ALONE = OP2.replace("op2", "alone").replace("versions", "dockerfileUri: Dockerfile\n    versions")
SCENARIO = """\
apiVersion: appstudio.redhat.com/v1beta2
kind: IntegrationTestScenario
metadata:
  name: e2e
  namespace: team
  labels:
    test.appstudio.openshift.io/optional: "false"   # required
spec:
  application: app
  contexts:
    - name: application   # everything
      description: Application testing
    - name: disabled
      description: kept
    - name: group
      description: Groups
  resolverRef:
    resolver: git # from git
"""
RELEASE = """\
apiVersion: appstudio.redhat.com/v1alpha1
kind: ReleasePlan
metadata:
  name: prod
  namespace: team
  labels:
    release.appstudio.openshift.io/auto-release: 'true'   # by itself
spec:
  application: app # ours
  target: managed
"""
REPOSITORY = """\
apiVersion: pipelinesascode.tekton.dev/v1alpha1
kind: Repository
metadata: {name: op2, namespace: team}
spec:
  settings:
    policy: {ok_to_test: [jane]} # who may
  url: "https://github.com/acme/op2"
"""
PIPELINE = """\
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  annotations:
    build.appstudio.openshift.io/commit_sha: '{{revision}}'
    pipelinesascode.tekton.dev/max-keep-runs: "3"
    # When it runs:
    pipelinesascode.tekton.dev/on-cel-expression: event == "push" && target_branch
      == "main"
  creationTimestamp: null
  labels:
    appstudio.openshift.io/application: app
    appstudio.openshift.io/component: op2
    pipelines.appstudio.openshift.io/type: build
  name: op2-on-push
  namespace: team
spec:
  params: [{name: output-image, value: 'quay.io/acme/op2:{{revision}}'}] # as it was
status: {}
"""
CEL = """\
    pipelinesascode.tekton.dev/on-cel-expression: event == "push" && target_branch
      == "main"
"""


@dataclass(frozen=True)
class Case:
    """Items, and the same with what configure makes of them."""

    name: str
    before: list[str]
    after: list[str]
    config: str = ""
    told: list[str] = field(default_factory=list)


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


OP2_NUDGES = OP2 + "  build-nudges-ref:\n  - bundle\n"
NUDGES = "{emit: {contexts: false, releasePlans: false, celGuards: false}}"
NOTHING = "{emit: {buildNudgesRef: false, contexts: false, releasePlans: false, celGuards: false}}"
OP2_FILES = '"./src/***".pathChanged() || ".tekton/op2-push.yaml".pathChanged()'
OP2_PUSH = f'event == "push" && target_branch == "main" && ( {OP2_FILES} )'
ONLY_BUNDLE = json.dumps('updatedComponentIs("bundle")')
SCENARIO_AFTER = replaced(
    SCENARIO,
    (
        "    - name: application   # everything\n      description: Application testing\n    - name: disabled\n"
        "      description: kept\n    - name: group\n      description: Groups\n",
        "    - name: component_bundle\n    - name: group\n      description: Groups\n    - name: disabled\n"
        "      description: kept\n",
    ),
)

CASES = [
    Case("set", [OP1, OP2, BUNDLE], [OP1, OP2_NUDGES, BUNDLE], NUDGES),
    Case(
        "sorted",
        [OP1, OP2, CATALOG, BUNDLE],
        [
            replaced(OP1, ("    - bundle\n", "    - bundle\n    - catalog\n")),
            OP2_NUDGES + "  - catalog\n",
            CATALOG,
            BUNDLE,
        ],
        NUDGES,
    ),
    Case("nothing", [OP1, OP2, BUNDLE, SCENARIO, RELEASE], [OP1, OP2, BUNDLE, SCENARIO, RELEASE], NOTHING),
    Case(
        "R5: deleted, taken out of all lists",
        [
            replaced(OP1, ("    - bundle", "    - old\n    - bundle")),
            OP2.replace("name: op2,", 'name: op2, deletionTimestamp: "2024-01-01T00:00:00Z",'),
            replaced(BUNDLE, ("    - op1\n", "    - op1\n  depends-on: [op2]\n  depends on:\n    - old\n    - op1\n")),
        ],
        [
            OP1,
            OP2.replace("name: op2,", 'name: op2, deletionTimestamp: "2024-01-01T00:00:00Z",'),
            replaced(BUNDLE, ("    - op2   # second\n", ""), ("    - op1\n", "    - op1\n  depends on:\n    - op1\n")),
        ],
        "{removed: [old], emit: {contexts: false, releasePlans: false, celGuards: false}}",
        ["R5", "R5", "R5"],
    ),
    Case(
        "C9: unknown, left",
        [OP1, OP2, replaced(BUNDLE, ("    - op1\n", "    - op1\n    - ghost # to come\n"))],
        [OP1, OP2_NUDGES, replaced(BUNDLE, ("    - op1\n", "    - op1\n    - ghost # to come\n"))],
        NUDGES,
        ["C9"],
    ),
    Case(
        "scenario, release",
        [OP1, OP2_NUDGES, BUNDLE, SCENARIO, RELEASE],
        [
            OP1,
            OP2_NUDGES,
            BUNDLE,
            SCENARIO_AFTER,
            replaced(
                RELEASE,
                (
                    "spec:\n",
                    f"  annotations:\n    release.appstudio.openshift.io/auto-release: {ONLY_BUNDLE}\nspec:\n",
                ),
            ),
        ],
        "{emit: {celGuards: false}}",
        ["R14"],
    ),
    Case(
        "repository, pipeline",
        [OP1, OP2_NUDGES, BUNDLE, REPOSITORY, PIPELINE],
        [
            OP1,
            OP2_NUDGES,
            BUNDLE,
            REPOSITORY + "  context: src\n",
            replaced(
                PIPELINE,
                (
                    CEL,
                    f"    pipelinesascode.tekton.dev/on-cel-expression: {json.dumps(OP2_PUSH)}\n",
                ),
            ),
        ],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_written(case: Case) -> None:
    """R5, R13, R14, C1, C8, C9: exactly this; all other bytes stay, and a second run changes nothing."""
    answer = run(case.before, "configure", case.config)
    assert answer.exit_code == 0
    assert answer.items == case.after
    assert answer.rules() == case.told
    again = run(answer.items, "configure", case.config)
    assert again.items == case.after


def expect(before: list[str], config: str = "") -> Answer:
    """What configure makes of items, which it leaves at the second run."""
    answer = run(before, "configure", config)
    assert answer.exit_code == 0, answer.results
    assert run(answer.items, "configure", config).items == answer.items
    return answer


# --- build-nudges-ref, NudgeConfig -----------------------------------------------------------------------------------


def test_r6_the_last_edge_is_taken_out() -> None:
    """R6: where the graph is read from dependsOn alone, nothing is nudged any more."""
    answer = expect([OP1, BUNDLE.replace("dependsOn", "notDependsOn")])
    # build-nudges-ref is an edge itself (C1).
    assert answer.items[0] == OP1


NUDGE_CONFIG = """\
apiVersion: appstudio.redhat.com/v1beta2
kind: NudgeConfig
metadata:
  name: nudge-config # one for each namespace
  namespace: team
spec:
  nudges:
    - from: op1
      to: bundle
      mode: immediate
"""


def test_nudge_config() -> None:
    """C1, C8: changed where it is, made where there is none."""
    config = "{emit: {nudgeConfig: true, buildNudgesRef: false, contexts: false}}"
    pair = "      to: bundle\n      mode: immediate\n"
    answer = expect([OP1, OP2, BUNDLE, NUDGE_CONFIG], config)
    assert answer.items == [OP1, OP2, BUNDLE, f"{NUDGE_CONFIG}    - from: op2\n{pair}"]
    *rest, made = expect([OP1, OP2, BUNDLE], config).items
    assert rest == [OP1, OP2, BUNDLE]
    assert "nudges:\n  - from: op1\n    to: bundle\n    mode: immediate\n  - from: op2\n" in made
    assert "apiVersion: appstudio.redhat.com/v1beta2\nkind: NudgeConfig\n" in made
    assert "namespace: team" in made
    assert expect([OP1, OP2, BUNDLE, NUDGE_CONFIG], NOTHING).items[-1] == NUDGE_CONFIG


# --- Repository, IntegrationTestScenario, ReleasePlan ----------------------------------------------------------------


def of_mono(name: str, context: str, *depends_on: str) -> str:
    more = f"  dependsOn: [{', '.join(depends_on)}]\n" if depends_on else ""
    return (
        f"apiVersion: appstudio.redhat.com/v1alpha1\nkind: Component\nmetadata: {{name: {name}, namespace: team}}\n"
        f"spec:\n  application: app\n{more}"
        f"  source: {{git: {{url: git@github.com:acme/op2.git, revision: main, context: {context}}}}}\n"
    )


CONTEXTS = [
    ([("a", "op/a"), ("b", "op/b")], "op", True),
    ([("a", "op"), ("b", "op/b")], "op", True),
    ([("a", "./op/"), ("b", "op")], "op", False),
    ([("a", "x"), ("b", "y")], ".", True),
    ([("a", "x"), ("b", ".")], ".", True),
    ([("a", "x")], "x", False),
]


@pytest.mark.parametrize(("contexts", "wanted", "told"), CONTEXTS)
def test_repository_contexts(contexts: list[tuple[str, str]], wanted: str, told: bool) -> None:
    """R13, I7: of several Components the directory that holds all, which is told; `.` needs no field."""
    components = [of_mono(name, context) for name, context in contexts]
    answer = expect([*components, REPOSITORY])
    assert answer.items[-1] == (REPOSITORY if wanted == "." else f"{REPOSITORY}  context: {wanted}\n")
    assert answer.rules() == (["I7"] if told else [])
    # A later change of the Component is propagated.
    changed = expect([*components, REPOSITORY + "  context: before # odd\n"])
    written = '"."' if wanted == "." else wanted
    assert changed.items[-1] == f"{REPOSITORY}  context: {written} # odd\n"


def test_of_another_repository() -> None:
    answer = expect([OP1, BUNDLE, REPOSITORY])
    assert answer.items[-1] == REPOSITORY


def test_without_edges_nothing_is_restricted() -> None:
    """R6, R18: independent Components are tested and released as ever."""
    items = [OP2, ALONE, SCENARIO, RELEASE, PIPELINE.replace("op2", "alone").replace("./src", ".")]
    assert expect(items, "{emit: {celGuards: false}}").items == items


@pytest.mark.parametrize("of", ["other-app", ""])
def test_scenarios_of_others(of: str) -> None:
    """R4, R10."""
    scenario, release = (text.replace("application: app", f"application: {of}") for text in (SCENARIO, RELEASE))
    assert expect([OP1, OP2_NUDGES, BUNDLE, scenario, release]).items[-2:] == [scenario, release]


def test_all_that_is_tested() -> None:
    """R14, R16 to R18: dependants and independent ones, sorted; a scenario without contexts gets them."""
    scenario = SCENARIO.partition("  contexts:")[0]
    answer = expect([ALONE, BUNDLE, OP1, OP2, scenario, RELEASE])
    names = ("component_alone", "component_bundle", "group")
    assert answer.items[-2] == scenario + "  contexts:\n" + "".join(f"  - name: {name}\n" for name in names)
    wanted = json.dumps('updatedComponentIs("alone") || updatedComponentIs("bundle")')
    assert f"auto-release: {wanted}\n" in answer.items[-1]
    (message,) = answer.messages("R14")
    assert "tests alone, bundle and groups" in message


@pytest.mark.parametrize("place", ["label", "annotation"])
def test_releases_that_are_off_stay_off(place: str) -> None:
    """R16: nobody's "false" becomes a release."""
    name = "release.appstudio.openshift.io/auto-release"
    text = replaced(RELEASE, ("'true'   # by itself", "'false' # never"))
    if place == "annotation":
        text = replaced(RELEASE, ("spec:\n", f'  annotations: {{{name}: "false"}} # never\nspec:\n'))
    answer = expect([OP1, OP2_NUDGES, BUNDLE, text])
    assert answer.items[-1] == text
    assert answer.rules() == ["R16"]


# --- PipelineRuns in git ---------------------------------------------------------------------------------------------


def pipeline(component: str, expression: str, kind: str = "push") -> str:
    return (
        f"apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata:\n  name: {component}-on-{kind}\n  namespace: team\n"
        f"  labels: {{appstudio.openshift.io/component: {component}}} # of {component}\n"
        f"  annotations:\n    pipelinesascode.tekton.dev/on-cel-expression: {expression}\nspec: {{}} # empty\n"
    )


MONO = [of_mono("controller", "controller"), of_mono("bundle", "bundle", "controller")]
PUSH = 'event == "push" && target_branch == "main"'
PULL = 'event == "pull_request" && target_branch == "release-1"'
IN_CONTEXT = '( "controller/***".pathChanged() || ".tekton/controller-{}.yaml".pathChanged() )'
ROOT = [of_mono("controller", "."), of_mono("bundle", "bundle", "controller")]
GUARD = '( files.all.size() == 0 || files.all.exists(nudged, !(nudged in ["bundle/csv.yaml"])) )'
FILES = "{digest: {files: [bundle/csv.yaml, controller/x.yaml, other.yaml]}}"
OWN = 'event == "push" && "controller/***".pathChanged() && source_branch != "x"'

TRIGGERS = [
    # Components, expression, configuration, what becomes of it, whether a warning tells that it may loop
    (MONO, PUSH, "", f"{PUSH} && {IN_CONTEXT.format('push')}", False),
    (MONO, PULL, "", f"{PULL} && {IN_CONTEXT.format('pull-request')}", False),
    (MONO, PUSH, FILES, f"{PUSH} && {IN_CONTEXT.format('push')} && {GUARD}", False),
    (MONO, OWN, "", OWN, False),
    (MONO, OWN, FILES, f"{OWN} && {GUARD}", False),
    (MONO, 'event == "push"', "", 'event == "push"', True),
    (MONO, 'event == "push"', FILES, f'event == "push" && {GUARD}', False),
    (MONO, f"{PUSH} || {PULL}", FILES, f"( {PUSH} || {PULL} ) && {GUARD}", False),
    (MONO, 'event == "push" &&', "", 'event == "push" &&', True),
    (MONO, 'event == "push" && unknown.thing()', "", 'event == "push" && unknown.thing()', True),
    (ROOT, PUSH, "", PUSH, True),
    (ROOT, PUSH, FILES, f"{PUSH} && {GUARD}", False),
    (ROOT[:1], PUSH, FILES, PUSH, False),
    # Of another repository nothing can loop.
    ([ROOT[0], ROOT[1].replace("acme/op2", "acme/other")], PUSH, FILES, PUSH, False),
]


@pytest.mark.parametrize(("components", "before", "config", "after", "loops"), TRIGGERS)
def test_expressions(components: list[str], before: str, config: str, after: str, loops: bool) -> None:
    """R12, R13: as build-service writes it, guarded against loops; where one cannot be excluded, that is told."""
    kind = "pull-request" if "pull_request" in before else "push"
    items = [*components, pipeline("controller", f"'{before}'", kind)]
    answer = expect(items, config or "{}")
    assert answer.items[-1] == pipeline("controller", f"'{after}'", kind)
    assert answer.rules("warning") == ["R12"] * loops
    off = expect(items, "{emit: {celGuards: false}}")
    assert off.items[-1] == items[-1]


def test_a_guard_is_taken_back() -> None:
    """A guard that is needed no more goes."""
    guarded = pipeline("controller", f"'{OWN} && {GUARD}'")
    assert expect([MONO[0], guarded]).items[-1] == pipeline("controller", f"'{OWN}'")


def test_pipelines_of_nobody() -> None:
    """R13: of a Component that is unknown, or without an expression, nothing is known."""
    others = [pipeline("ghost", PUSH), pipeline("controller", PUSH).replace("on-cel-expression", "on-event")]
    assert expect([*MONO, *others]).items[-2:] == others


# --- What else is expected -----------------------------------------------------------------------------------------


def comments_of_entries_stay() -> None:
    """C8: also of those in a list that gets another."""
    text = replaced(OP1, ("    - bundle\n", "    -   bundle  # the old one\n"))
    wanted = replaced(text, ("old one\n", "old one\n    - catalog\n"))
    assert expect([text, OP2_NUDGES + "  - catalog\n", BUNDLE, CATALOG]).items[0] == wanted


def comments_of_nudges_stay() -> None:
    """C8."""
    text = NUDGE_CONFIG.replace("from: op1\n", "from: op1 # first\n")
    config = "{emit: {nudgeConfig: true, buildNudgesRef: false}}"
    assert "# first" in expect([OP1, OP2, BUNDLE, text], config).items[3]


def flow_lists_stay() -> None:
    """C8: a list on one line stays on one."""
    text = OP1.replace("dependsOn", "").replace("  componentName: op1\n", "  dependsOn: [gone, op2] # two\n")
    assert "  dependsOn: [op2] # two\n" in expect([text, OP2], "{removed: [gone]}").items[0]


def annotations_too() -> None:
    """R5."""
    text = OP2.replace("{name: op2,", "{name: op2, annotations: {components.krm-merge.dev/depends-on: 'gone,op1'},")
    answer = expect([OP1, text], "{removed: [gone]}")
    assert "gone" not in answer.items[1]
    assert "op1" in answer.items[1]


def unknown_nudges_stay() -> None:
    """C9."""
    text = replaced(OP1, ("    - bundle", "    - ghost\n    - bundle"))
    assert "ghost" in expect([text, BUNDLE]).items[0]


def nudges_of_other_applications_stay() -> None:
    """C9, R4: ignored is not taken out."""
    other = replaced(BUNDLE, ("application: app", "application: other"), ("dependsOn", "notDependsOn"))
    assert expect([OP1, other]).items[0] == OP1


def modes_of_nudges_stay() -> None:
    """C8: what somebody chose for an edge stays."""
    text = NUDGE_CONFIG.replace("mode: immediate", "mode: validated\n      gatingGroup: g")
    config = "{emit: {nudgeConfig: true, buildNudgesRef: false}}"
    assert expect([OP1, BUNDLE, text], config).items[2] == text


def the_last_nudge_is_taken_out() -> None:
    """R5: also of a NudgeConfig."""
    config = "{removed: [op1], emit: {nudgeConfig: true}}"
    assert "op1" not in expect([OP1, BUNDLE.replace("dependsOn", "no"), NUDGE_CONFIG], config).items[2]


def independent_again() -> None:
    """R6: an ex-dependency is tested and released as an independent one."""
    restricted = expect([OP1, OP2, BUNDLE, SCENARIO, RELEASE]).items
    op1 = OP1.replace("  build-nudges-ref:   # who is nudged\n    - bundle\n", "")
    free = expect([op1, OP2, BUNDLE.replace("dependsOn", "no"), *restricted[3:]]).items
    assert "component_op1" in free[3] or "name: application" in free[3]
    assert 'updatedComponentIs("bundle")\n' not in free[4]


def deleted_elsewhere() -> None:
    """R4, R5: a Component that is deleted in another namespace says nothing of this one."""
    gone = OP1.replace("namespace: team", 'namespace: other\n  deletionTimestamp: "2024-01-01T00:00:00Z"')
    answer = expect([gone, BUNDLE])
    assert answer.items[1] == BUNDLE
    assert "R5" not in answer.rules()


# What is played, and whether it holds already.
EXPECTED: list[tuple[Callable[[], None], bool]] = [
    (comments_of_entries_stay, True),
    (comments_of_nudges_stay, True),
    (flow_lists_stay, True),
    (annotations_too, True),
    (unknown_nudges_stay, True),
    (nudges_of_other_applications_stay, True),
    (modes_of_nudges_stay, True),
    (the_last_nudge_is_taken_out, True),
    (independent_again, False),
    (deleted_elsewhere, True),
]


def expected(play: Callable[[], None], holds: bool) -> ParameterSet:
    return pytest.param(play, id=play.__name__, marks=[] if holds else pytest.mark.xfail(reason=play.__doc__ or ""))


@pytest.mark.parametrize("play", [expected(*row) for row in EXPECTED])
def test_expected(play: Callable[[], None]) -> None:
    """C8, C9, R4 to R6: what each row says of itself."""
    play()
