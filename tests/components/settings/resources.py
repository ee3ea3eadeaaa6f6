"""Resources as Konflux has them, and what `mode: configure` makes of them."""

from __future__ import annotations

import yaml

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


def replace_text(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


OP2_NUDGES = OP2 + "  build-nudges-ref:\n  - bundle\n"
REPLACED = "components.krm-merge.dev/replaced"


def expect(before: list[str], config: str = "") -> Answer:
    """The items after configure; a second run changes nothing, and every change is reported (C3)."""
    answer = run(before, "configure", config)
    assert answer.exit_code == 0, answer.results
    assert run(answer.items, "configure", config).items == answer.items
    results = [
        result["resourceRef"] for result in answer.results if result["severity"] == "info" and "resourceRef" in result
    ]
    for old, new in zip(before, answer.items, strict=False):
        assert old == new or reference(new) in results, new
    assert all(reference(item) in results for item in answer.items[len(before) :])
    return answer


def reference(text: str) -> dict[str, str]:
    """How results name an item."""
    value = yaml.safe_load(text)
    about = {name: value["metadata"][name] for name in ("name", "namespace") if name in value["metadata"]}
    return {"apiVersion": value["apiVersion"], "kind": value["kind"], **about}


def of_mono(name: str, context: str, *depends_on: str) -> str:
    more = f"  dependsOn: [{', '.join(depends_on)}]\n" if depends_on else ""
    return (
        f"apiVersion: appstudio.redhat.com/v1alpha1\nkind: Component\nmetadata: {{name: {name}, namespace: team}}\n"
        f"spec:\n  application: app\n{more}"
        f"  source: {{git: {{url: git@github.com:acme/op2.git, revision: main, context: {context}}}}}\n"
    )


def releasing(expression: str, note: str = "") -> str:
    """A ReleasePlan with an expression of its own, and what is remembered of another one."""
    about = f"    {REPLACED}: {note}\n" if note else ""
    expression = f"    release.appstudio.openshift.io/auto-release: {expression} # why\n" if expression else ""
    return replace_text(RELEASE, ("spec:\n", f"  annotations:\n    a: b\n{expression}{about}spec:\n"))
