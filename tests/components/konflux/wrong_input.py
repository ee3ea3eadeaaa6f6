"""A package that gives every mode something to do, and changes of it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import yaml

from components.observations import digest

MODES = ["validate", "configure", "plan", "simulate"]
HEAD, MERGE = "0a" * 20, "0b" * 20
PAC = "pipelinesascode.tekton.dev"
RELEASE = "release.appstudio.openshift.io/auto-release"
DEPENDS_ON = "components.krm-merge.dev/depends-on"
# A package that gives every mode something to do: a parent image, its child, a pull request that is built.
PACKAGE = f"""
apiVersion: appstudio.redhat.com/v1alpha1
kind: Component
metadata:
  name: parent
  namespace: team
  annotations:
    internal.config.kubernetes.io/path: parent.yaml
    test.appstudio.openshift.io/lastbuilttime: "1709568000"
spec:
  application: app
  componentName: parent
  containerImage: quay.io/acme/parent@{digest("1")}
  source:
    git: {{url: https://github.com/acme/parent, revision: main, context: image, dockerfileUrl: Dockerfile}}
  build-nudges-ref: [child]
status:
  lastPromotedImage: quay.io/acme/parent@{digest("2")}
  lastBuiltCommit: {MERGE}
---
apiVersion: konflux-ci.dev/v1alpha1
kind: Component
metadata:
  name: child
  namespace: team
  annotations:
    {DEPENDS_ON}: parent
    internal.config.kubernetes.io/path: child.yaml
spec:
  application: app
  containerImage: quay.io/acme/child@{digest("3")}
  dependsOn: [parent]
  source:
    url: https://github.com/acme/child
    versions:
    - {{name: v1, revision: main, context: .}}
---
apiVersion: appstudio.redhat.com/v1beta2
kind: NudgeConfig
metadata: {{name: nudge-config, namespace: team}}
spec:
  nudges:
  - {{from: parent, to: child, mode: immediate}}
---
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  name: parent-1
  namespace: team
  creationTimestamp: "2024-03-05T00:00:00Z"
  labels:
    appstudio.openshift.io/component: parent
    {PAC}/event-type: pull_request
    {PAC}/pull-request: "7"
    {PAC}/sha: {HEAD}
  annotations:
    {PAC}/source-branch: feature
    {PAC}/branch: main
    {PAC}/repo-url: https://github.com/acme/parent
    build.appstudio.redhat.com/commit_sha: {HEAD}
    build.appstudio.redhat.com/target_branch: main
    build.appstudio.redhat.com/pull_request_number: "7"
status:
  startTime: "2024-03-05T00:00:00Z"
  completionTime: "2024-03-05T00:05:00Z"
  conditions:
  - {{type: Succeeded, status: "True", reason: Completed}}
  results:
  - {{name: IMAGE_URL, value: "quay.io/acme/parent:on-pr"}}
  - {{name: IMAGE_DIGEST, value: "{digest("4")}"}}
  - {{name: CHAINS-GIT_URL, value: https://github.com/acme/parent}}
  - {{name: CHAINS-GIT_COMMIT, value: {HEAD}}}
  - {{name: IMAGES, value: "quay.io/acme/parent@{digest("5")}"}}
---
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  name: child-on-push
  namespace: team
  labels: {{appstudio.openshift.io/component: child}}
  annotations:
    {PAC}/on-cel-expression: event == "push" && target_branch == "main"
spec: {{}}
---
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  name: child-1
  namespace: team
  labels:
    appstudio.openshift.io/component: child
    {PAC}/event-type: push
  annotations: {{{PAC}/source-branch: main, {PAC}/branch: main}}
status:
  startTime: "2024-03-06T00:00:00Z"
  conditions: [{{type: Succeeded, status: "True"}}]
  results:
  - {{name: IMAGE_URL, value: "quay.io/acme/child:latest"}}
  - {{name: IMAGE_DIGEST, value: "{digest("6")}"}}
---
apiVersion: components.krm-merge.dev/v1alpha1
kind: PullRequest
metadata: {{name: parent-7, namespace: team}}
spec:
  repository: https://github.com/acme/parent
  number: 7
  sourceBranch: feature
  targetBranch: main
  title: A title
  description: What it is for.
status:
  state: open
  draft: false
  headSHA: {HEAD}
  mergeSHA: ""
  author: ann
  changedFiles: [image/Dockerfile]
  userCommits: false
  branches: [feature, main]
---
apiVersion: appstudio.redhat.com/v1alpha1
kind: ReleasePlanAdmission
metadata: {{name: admission, namespace: releases}}
spec:
  origin: team
  applications: [app]
  data:
    mapping:
      components:
      - {{name: parent, repositories: [{{url: quay.io/released/parent}}]}}
---
apiVersion: pipelinesascode.tekton.dev/v1alpha1
kind: Repository
metadata: {{name: parent, namespace: team}}
spec: {{url: https://github.com/acme/parent, context: .}}
---
apiVersion: appstudio.redhat.com/v1beta2
kind: IntegrationTestScenario
metadata: {{name: tests, namespace: team}}
spec:
  application: app
  contexts:
  - {{name: application, description: all}}
---
apiVersion: appstudio.redhat.com/v1alpha1
kind: ReleasePlan
metadata:
  name: release
  namespace: team
  labels: {{{RELEASE}: "true"}}
  annotations: {{{RELEASE}: "true"}}
spec: {{application: app, target: releases}}
---
apiVersion: appstudio.redhat.com/v1alpha1
kind: Snapshot
metadata:
  name: app-20240306-000000-000
  namespace: team
  annotations: {{components.krm-merge.dev/simulated: "true"}}
spec:
  application: app
  components:
  - name: child
    containerImage: quay.io/acme/child@{digest("6")}
    source: {{git: {{url: https://github.com/acme/child, revision: {MERGE}}}}}
status:
  conditions:
  - {{type: AppStudioTestSucceeded, status: "True"}}
---
apiVersion: appstudio.redhat.com/v1alpha1
kind: Release
metadata: {{name: old, namespace: team, annotations: {{components.krm-merge.dev/simulated: "true"}}}}
spec: {{snapshot: gone, releasePlan: release}}
---
apiVersion: components.krm-merge.dev/v1alpha1
kind: PullRequestPlan
metadata: {{name: child-feature, namespace: team}}
spec: {{repository: https://github.com/acme/child, draft: true}}
status: {{seen: true}}
"""
Object = dict[str, Any]
GOOD: dict[str, Object] = {
    f"{resource['kind']} {resource['metadata']['name']}": resource for resource in yaml.safe_load_all(PACKAGE)
}


def places(value: Any, *above: str | int) -> Iterator[tuple[str | int, ...]]:
    """Of all fields and elements in a value."""
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*above, step)
        if isinstance(inner, dict | list):
            yield from places(inner, *above, step)


def change(value: Object, place: tuple[str | int, ...], new: Any) -> Object:
    """With another value at a place; maps on the way are made."""
    copied = deepcopy(value)
    inner: Any = copied
    for step in place[:-1]:
        inner = inner.setdefault(step, {}) if isinstance(inner, dict) else inner[step]
    inner[place[-1]] = new
    return copied


def items_with(*others: Object) -> list[str]:
    """The package; resources that it has are replaced, others come behind."""
    resources = GOOD | {name_of(other): other for other in others}
    return [yaml.safe_dump(resource) for resource in resources.values()]


def name_of(value: Object) -> str:
    return f"{value['kind']} {value['metadata']['name']}"


SPEC, SOURCE, GIT = ("spec",), ("spec", "source"), ("spec", "source", "git")
ANNOTATIONS, LABELS = ("metadata", "annotations"), ("metadata", "labels")
