"""Definitions of PipelineRuns in git: what starts them, what build-service edits, and guards against loops."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from components.settings.resources import BUNDLE, OP1, OP2, expect, of_mono, releasing, replace_text

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

GLOBS = "{digest: {files: [bundle/manifests/*.yaml]}}"
MANIFESTS = "^bundle/manifests/[^/]*[.]yaml$"
A = 'nudged in ["bundle/a.yaml"] || '
SPELT = [of_mono("controller", "./x/../controller//"), MONO[1]]
PUSH_SINGLE = PUSH.replace('"main"', "''main''")


def guard(pattern: str, other: str = "") -> str:
    return GUARD.replace('nudged in ["bundle/csv.yaml"]', f'{other}nudged.matches("{pattern}")')


def files(*globs: str) -> str:
    return f"{{digest: {{files: {json.dumps(globs)}}}}}"


DEFAULTS = [f'nudged.matches("^bundle/{kind}")' for kind in (".*.yaml", ".*Containerfile.*", ".*Dockerfile.*")]
BY_DEFAULT = GUARD.replace('nudged in ["bundle/csv.yaml"]', " || ".join(DEFAULTS))
ODD = "bundle/[+-9].yaml"

TRIGGERS: list[tuple[list[str], str, str, str, bool]] = [
    # Components, expression, configuration, what becomes of it, whether a warning says that it may loop
    (MONO, PUSH, "", f"{PUSH} && {IN_CONTEXT.format('push')}", False),
    (MONO, PULL, "", f"{PULL} && {IN_CONTEXT.format('pull-request')}", False),
    (MONO, PUSH, FILES, f"{PUSH} && {IN_CONTEXT.format('push')} && {GUARD}", False),
    # One that somebody wrote is not evaluated, but guarded: by default against what build-service edits by default.
    (MONO, OWN, "", f"{OWN} && {BY_DEFAULT}", False),
    (MONO, OWN, FILES, f"{OWN} && {GUARD}", False),
    (MONO, 'event == "push"', "", f'event == "push" && {BY_DEFAULT}', False),
    (MONO, 'event == "push"', FILES, f'event == "push" && {GUARD}', False),
    (MONO, f"{PUSH} || {PULL}", FILES, f"( {PUSH} || {PULL} ) && {GUARD}", False),
    (MONO, 'event == "push" &&', "", 'event == "push" &&', True),
    (MONO, "unknown.thing()", "", f"unknown.thing() && {BY_DEFAULT}", False),
    (ROOT, PUSH, "", f"{PUSH} && {BY_DEFAULT}", False),
    (ROOT, PUSH, FILES, f"{PUSH} && {GUARD}", False),
    (ROOT, f"{PUSH} && {BY_DEFAULT}", FILES, f"{PUSH} && {GUARD}", False),
    (ROOT[:1], PUSH, FILES, PUSH, False),
    # Globs.
    (MONO, PUSH, GLOBS, f"{PUSH} && {IN_CONTEXT.format('push')} && {guard(MANIFESTS)}", False),
    (ROOT, PUSH, GLOBS, f"{PUSH} && {guard(MANIFESTS)}", False),
    (ROOT, f"{PUSH} && {guard(MANIFESTS)}", FILES, f"{PUSH} && {GUARD}", False),
    (
        ROOT,
        PUSH,
        files("bundle/a.yaml", "bundle/*/b.yaml"),
        f"{PUSH} && {guard('^bundle/[^/]*/b[.]yaml(?:/|$)', A)}",
        False,
    ),
    (ROOT, PUSH, files("bundle/deploy"), f"{PUSH} && {guard('^bundle/deploy(?:/|$)')}", False),
    (ROOT, PUSH, files("bundle/"), f"{PUSH} && {guard('^bundle(?:/|$)')}", False),
    # Of a glob for all directories, what is in that of the dependant.
    (ROOT, PUSH, files("**/*.yaml"), f"{PUSH} && {guard('^bundle/(?:[^/]+/)*[^/]*[.]yaml$')}", False),
    (ROOT, PUSH, files("*/csv.yaml"), f"{PUSH} && {GUARD}", False),
    (ROOT, PUSH, files("docs/*.yaml", "*.yaml"), PUSH, True),
    # What cannot be written as a test is not guarded.
    (ROOT, PUSH, files(ODD), PUSH, True),
    (ROOT, PUSH, files(ODD, "bundle/csv.yaml"), f"{PUSH} && {GUARD}", True),
    (MONO, OWN, files(ODD), OWN, True),
    (MONO, OWN, files("[+-9]*/x.yaml", "bundle/csv.yaml"), f"{OWN} && {GUARD}", False),
    # Where the dependant has the whole repository, everything may be edited, also what has to build the dependency.
    ([MONO[0], of_mono("bundle", ".", "controller")], OWN, "", OWN, True),
    # Contexts in other spellings.
    (SPELT, PUSH, "", f"{PUSH} && {IN_CONTEXT.format('push')}", False),
    ([of_mono("controller", "./"), MONO[1]], PUSH, "", f"{PUSH} && {BY_DEFAULT}", False),
    # Nothing but a condition is replaced.
    ([of_mono("controller", "."), MONO[1]], PUSH_SINGLE, FILES, f"{PUSH_SINGLE} && {GUARD}", False),
    # Of another repository nothing can loop.
    ([ROOT[0], ROOT[1].replace("acme/op2", "acme/other")], PUSH, FILES, PUSH, False),
]

ADDED = re.compile(r"    (?:build.appstudio.openshift.io/build-nudge-files|components.krm-merge.dev/replaced): .*\n")


def expression_alone(text: str) -> str:
    """A definition without the settings of build-service."""
    return ADDED.sub("", text)


@pytest.mark.parametrize(("components", "before", "config", "after", "loops"), TRIGGERS)
def test_expressions(components: list[str], before: str, config: str, after: str, loops: bool) -> None:
    """CR12, CR13, C11: as build-service writes it, guarded against loops; one that cannot be excluded is reported."""
    kind = "pull-request" if "pull_request" in before else "push"
    items = [*components, pipeline("controller", f"'{before}'", kind)]
    answer = expect(items, config or "{}")
    assert expression_alone(answer.items[-1]) == pipeline("controller", f"'{after}'", kind)
    assert answer.rules("warning") == ["CR12"] * loops
    off = expect(items, "{emit: {celGuards: false}}")
    assert off.items[-1] == items[-1]


NUDGED = "build.appstudio.openshift.io/build-nudge-files"


def annotations_of(text: str) -> dict[str, str]:
    document = yaml.safe_load(text)["metadata"]["annotations"]
    return {name.rpartition("/")[2]: value for name, value in document.items()}


def test_build_service_edits_the_files_of_digest_files() -> None:
    """C10: its restriction is written on the push of the dependency, and taken out again with digest.files."""
    config = files("bundle/csv.yaml", "bundle/manifests/*.yaml", "docs/*.md", "bundle/a,b.yaml")
    items = [*MONO, pipeline("controller", f"'{PUSH}'"), pipeline("bundle", f"'{PUSH}'")]
    answer = expect(items, config)
    patterns = r"^bundle/a\x2cb[.]yaml$, ^bundle/csv[.]yaml$, ^bundle/manifests/[^/]*[.]yaml$"
    assert annotations_of(answer.items[-2])["build-nudge-files"] == patterns
    assert "build-nudge-files" not in annotations_of(answer.items[-1])
    assert f"PipelineRun team/controller-on-push: build-service edits {patterns}" in answer.messages("C10")
    again = expect(answer.items)
    assert again.items[-2] == expect(items).items[-2]
    assert "edits its default files" in again.messages("CR6")[0]
    pulls = expect([*MONO, pipeline("controller", f"'{PULL}'", "pull-request")], config)
    assert "build-nudge-files" not in annotations_of(pulls.items[-1])


def test_build_nudge_files_of_people_are_guarded_and_come_back() -> None:
    """C10, CR6: without digest.files the guard covers what they name; with it they wait in an annotation."""
    run_of_people = pipeline("controller", f"'{OWN}'").replace(
        "spec: {}", f"    {NUDGED}: deploy/.*[.]sh # ours\nspec: {{}}"
    )
    remaining = expect([*MONO, run_of_people])
    guarded = annotations_of(remaining.items[-1])
    assert guarded["build-nudge-files"] == "deploy/.*[.]sh"
    assert guarded["on-cel-expression"] == f"{OWN} && {guard('deploy/.*[.]sh')}"
    replaced = expect([*MONO, run_of_people], FILES)
    annotations = annotations_of(replaced.items[-1])
    assert (annotations["build-nudge-files"], annotations["replaced"]) == ("^bundle/csv[.]yaml$", '"deploy/.*[.]sh"')
    assert annotations_of(expect(replaced.items).items[-1]) == guarded


def test_a_guard_is_taken_back() -> None:
    """CR12: a guard that is not needed any more is removed and reported."""
    guarded = pipeline("controller", f"'{OWN} && {GUARD}'")
    answer = expect([MONO[0], guarded])
    assert answer.items[-1] == pipeline("controller", f"'{OWN}'")
    assert answer.messages("CR12") == ["PipelineRun team/controller-on-push: its guard is removed"]


def test_expressions_are_told() -> None:
    """C3, CR12: what starts a pipeline now; and where a loop is possible, what to do about it."""
    answer = expect([*MONO, pipeline("controller", f"'{PUSH}'")], GLOBS)
    about = "PipelineRun team/controller-on-push: "
    guards = "changes of nothing but bundle/manifests/*.yaml do not start it"
    assert answer.messages("CR12") == [f"{about}only changes in controller start it; {guards}"]
    again = "updates of bundle may build controller again; "
    answer = expect([*ROOT, pipeline("controller", f"'{PUSH}'")], files("bundle/[+-9].yaml"))
    assert answer.messages("CR12") == [f"{about}{again}write bundle/[+-9].yaml in digest.files without brackets"]
    answer = expect([*ROOT, pipeline("controller", f"'{PUSH}'")])
    by_default = "changes of nothing but Dockerfiles, Containerfiles and YAML in bundle do not start it"
    assert answer.messages("CR12") == [f"{about}{by_default}"]
    answer = expect([MONO[0], of_mono("bundle", ".", "controller"), pipeline("controller", f"'{OWN}'")])
    assert answer.messages("CR12") == [f"{about}{again}name the files that are edited in digest.files"]


# How an expression is written before, and after: all that is new is the guard.
NEW = '&& ( files.all.size() == 0 || files.all.exists(nudged, !(nudged in ["bundle/csv.yaml"])) )'
IN_DOUBLE = NEW.replace('"', '\\"')
STYLES = {
    "plain": ('event == "push" # why', f'event == "push" {NEW} # why'),
    "plain-lines": (
        'event == "push" && target_branch\n      == "x" # why',
        f'event == "push" && target_branch\n      == "x"\n      {NEW} # why',
    ),
    "single": ("'event == \"push\"'", f"'event == \"push\" {NEW}'"),
    "single-lines": (
        "'event == \"push\" &&\n      source_branch != ''x''' # why",
        f"'event == \"push\" &&\n      source_branch != ''x''\n      {NEW}' # why",
    ),
    "double": ('"event == \\"push\\"" # why', f'"event == \\"push\\" {IN_DOUBLE}" # why'),
    "double-lines": (
        '"event == \\"push\\" &&\n      body.x"',
        f'"event == \\"push\\" &&\n      body.x\n      {IN_DOUBLE}"',
    ),
    "folded": (
        '>- # why\n      event == "push" &&\n      body.x',
        f'>- # why\n      event == "push" &&\n      body.x\n      {NEW}',
    ),
    "folded-with-end": ('>\n      event == "push"', f'>\n      event == "push"\n      {NEW}'),
    "literal": (
        '|-\n      event == "push"\n        && body.x',
        f'|-\n      event == "push"\n        && body.x {NEW}',
    ),
    "literal-with-end": ('| # why\n      event == "push"', f'| # why\n      event == "push" {NEW}'),
    # Where the style cannot be kept, another one without backslashes.
    "folded-with-breaks": (
        '>-\n      event == "push" &&\n        body.x // sic',
        f'|-\n      event == "push" &&\n        body.x // sic\n      {NEW}',
    ),
    "plain-with-comment": ("body.x // sic", f"|-\n      body.x // sic\n      {NEW}"),
}


BACK = {
    "folded-with-breaks": STYLES["folded-with-breaks"][0].replace(">-", "|-"),
    "plain-with-comment": "|-\n      body.x // sic",
}


@pytest.mark.parametrize("name", STYLES)
def test_styles_of_expressions(name: str) -> None:
    """C8: an expression stays in its quotes or its block and on its lines; without its guard it is as it was."""
    before, after = STYLES[name]
    answer = expect([*ROOT, pipeline("controller", before)], FILES)
    assert expression_alone(answer.items[-1]) == pipeline("controller", after)
    free = expect([ROOT[0], answer.items[-1]])
    assert free.items[-1] == pipeline("controller", BACK.get(name, before))


def test_expressions_that_cannot_keep_their_style() -> None:
    """C8: a plain one gets single quotes where it would end in a comment; what others refer to stays for them."""
    answer = expect([*ROOT, pipeline("controller", "'true'")], files("bundle/a #b.yaml"))
    plain = expect([*ROOT, pipeline("controller", "true && body.x")], files("bundle/a #b.yaml"))
    guarded = annotations_of(answer.items[-1])["on-cel-expression"]
    assert expression_alone(plain.items[-1]) == pipeline(
        "controller", f"'{guarded.replace('true', 'true && body.x', 1)}'"
    )
    shared = pipeline("controller", "&same |-\n      body.x\n    other: *same")
    annotations = yaml.safe_load(expect([*ROOT, shared], FILES).items[-1])["metadata"]["annotations"]
    assert list(annotations.values())[:2] == [f"body.x {NEW}", "body.x"]


def test_expressions_in_braces() -> None:
    """C8: in flow style they stay on one line."""
    text = pipeline("controller", "'true'} # why").replace("annotations:\n    ", "annotations: {")
    assert expect([*ROOT, text], FILES).items[-1] == text.replace("'true'", f"'true {NEW}'")


def test_expressions_of_releases_keep_their_style() -> None:
    """C8, CR16: a block stays one, on lines that begin as conditions do."""
    text = replace_text(releasing("shouldRelease()"), ("shouldRelease() # why", ">-\n      body.x &&\n      body.y"))
    after = '>-\n      (body.x\n      && body.y)\n      && (updatedComponentIs("bundle"))\n'
    assert after in expect([BUNDLE, OP1, OP2, text]).items[-1]


def test_pipelines_of_nobody() -> None:
    """CR13: of a Component that is unknown, or without an expression, nothing is known."""
    others = [pipeline("ghost", PUSH), pipeline("controller", PUSH).replace("on-cel-expression", "on-event")]
    assert expect([*MONO, *others]).items[-2:] == others
