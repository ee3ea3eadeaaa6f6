"""Law N on objects of real kinds that both sides edit: nothing is invented, nothing goes that no side removed.

Texts are written as people do, in blocks. An element of a list is known by the first of the fields in NAMES that all
elements have, each once; a path names it by that.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import scaled
from krm_merge import MergedPackage, merge_packages

NAMES = ("name", "alert", "record", "host", "path", "mountPath", "key", "id", "port", "containerPort")
KINDS = {
    "NetworkPolicy": """
        apiVersion: networking.k8s.io/v1
        kind: NetworkPolicy
        metadata: {name: web}
        spec:
          podSelector: {matchLabels: {app: web, tier: front}}
          policyTypes: [Ingress, Egress]
          ingress:
          - from: [{podSelector: {matchLabels: {app: a}}}, {podSelector: {matchLabels: {app: b}}}]
            ports: [{port: 80}, {port: 443}]
          - from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]
          egress: []""",
    "Role": """
        apiVersion: rbac.authorization.k8s.io/v1
        kind: Role
        metadata: {name: r, labels: {a: b}}
        rules:
        - {apiGroups: [''], resources: [pods, services], verbs: [get, list, watch]}
        - {apiGroups: [apps], resources: [deployments], verbs: [get]}
        - {apiGroups: [batch], resources: [jobs], verbs: ['*']}""",
    "RoleBinding": """
        apiVersion: rbac.authorization.k8s.io/v1
        kind: RoleBinding
        metadata: {name: r}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: view}
        subjects:
        - {kind: User, name: a}
        - {kind: Group, name: b}
        - {kind: ServiceAccount, name: c, namespace: d}""",
    "Service": """
        apiVersion: v1
        kind: Service
        metadata: {name: web, annotations: {x: y}}
        spec:
          type: ClusterIP
          selector: {app: web, tier: front}
          ports:
          - {name: http, port: 80, targetPort: 8080}
          - {name: https, port: 443, targetPort: 8443}
          - {name: metrics, port: 9090, targetPort: 9090}""",
    "Ingress": """
        apiVersion: networking.k8s.io/v1
        kind: Ingress
        metadata: {name: web}
        spec:
          tls: [{secretName: t, hosts: [a.example, b.example]}]
          rules:
          - host: a.example
            http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}
          - host: b.example
            http:
              paths:
              - {path: /, pathType: Prefix, backend: {service: {name: b, port: {number: 80}}}}
              - {path: /api, pathType: Prefix, backend: {service: {name: c, port: {number: 81}}}}""",
    "PersistentVolumeClaim": """
        apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {name: data}
        spec:
          accessModes: [ReadWriteOnce, ReadOnlyMany]
          storageClassName: fast
          resources: {requests: {storage: 1Gi}, limits: {storage: 2Gi}}
          selector: {matchExpressions: [{key: zone, operator: In, values: [a, b]}]}""",
    "Deployment": """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec:
          replicas: 1
          template:
            spec:
              tolerations: [{key: a, operator: Exists}, {key: b, operator: Exists}]
              containers:
              - name: web
                command: [/bin/serve, --port, '80']
                args: [-v, --log=info]
                ports: [{containerPort: 80, name: http}]
                env: [{name: A, value: a}, {name: B, value: b}, {name: C, value: c}]
                volumeMounts: [{mountPath: /a, name: v}, {mountPath: /b, name: w}]
                resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 2Gi}}
              - name: side
                args: [run]
              volumes: [{name: v, emptyDir: {medium: Memory}}, {name: w, configMap: {name: c}}]""",
    "CustomResourceDefinition": """
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: ws.example.com}
        spec:
          group: example.com
          names: {kind: W, plural: ws, shortNames: [w, v]}
          scope: Namespaced
          versions:
          - name: v1
            served: true
            storage: true
            schema:
              openAPIV3Schema:
                type: object
                required: [a, b]
                properties:
                  a: {type: string, enum: [x, y]}
                  b: {type: object, properties: {c: {type: integer}, d: {type: string}}}""",
    "Kustomization": """
        apiVersion: kustomize.config.k8s.io/v1beta1
        kind: Kustomization
        namePrefix: a-
        resources: [a.yaml, b.yaml, ../c]
        labels: [{pairs: {app: web}, includeSelectors: true}]
        images: [{name: web, newTag: '1'}, {name: db, newTag: '2'}]
        configMapGenerator: [{name: c, literals: [a=1, b=2]}]""",
    "Application": """
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: web}
        spec:
          project: p
          source:
            repoURL: git@x
            path: web
            helm: {parameters: [{name: a, value: '1'}, {name: b, value: '2'}], valueFiles: [a.yaml, b.yaml]}
          destination: {server: s, namespace: n}
          syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [CreateNamespace=true, Replace=true]}""",
    "Pipeline": """
        apiVersion: tekton.dev/v1
        kind: Pipeline
        metadata: {name: p}
        spec:
          params: [{name: url, type: string}, {name: rev, default: main}]
          tasks:
          - {name: clone, taskRef: {name: git}, params: [{name: u, value: a}, {name: r, value: b}]}
          - {name: build, runAfter: [clone], taskRef: {name: make}}
          - {name: test, runAfter: [build, clone], taskRef: {name: make}}""",
    "PrometheusRule": """
        apiVersion: monitoring.coreos.com/v1
        kind: PrometheusRule
        metadata: {name: p}
        spec:
          groups:
          - name: g
            rules:
            - {alert: A, expr: up == 0, for: 5m, labels: {severity: high}}
            - {alert: B, expr: up == 1, labels: {severity: low}}
            - {alert: C, expr: down, for: 1m}""",
    "values.yaml": """
        replicas: 1
        ports: [80, 443]
        extraArgs: [--a=1, --b]
        env: {A: a, B: b}
        hosts: [{host: a, paths: [/]}, {host: b, paths: [/, /b]}]
        record: {src: a, dest: b, commit: c}
        points: [{x: 1, y: 2, z: 3}, {x: 4, y: 5, z: 6}, {x: 7, y: 8, z: 9}]""",
    "patch.yaml": """
        - {op: replace, path: /spec/a, value: 1}
        - {op: add, path: /spec/b, value: {c: d}}
        - {op: remove, path: /spec/e}
        - {op: replace, path: /spec/f, value: 1}""",
}
FIXED = ("apiVersion", "kind", "metadata", "roleRef")
"""Fields that stay as they are: which object it is."""


class Edits:
    """Edits of a value such as people make; what they write is marked with the side's letter."""

    def __init__(self, rng: random.Random, letter: str) -> None:
        self._rng, self._letter, self._count = rng, letter, 0

    def fresh(self, like: object) -> object:
        self._count += 1
        number = 100 * (ord(self._letter) - 96) + self._count
        if isinstance(like, bool):
            return not like
        return number if isinstance(like, int) else f"{self._letter}{number}"

    def edited(self, value: Any) -> Any:
        value = deepcopy(value)
        for _ in range(self._rng.randint(1, 3)):
            collections = [each for each in walk(value) if each]
            self._edit(self._rng.choice(collections), is_root=False)
        return value

    def _edit(self, collection: Any, *, is_root: bool) -> None:
        rng = self._rng
        if isinstance(collection, dict):
            keys = [key for key in collection if key not in FIXED]
            key = rng.choice(keys) if keys else None
            action = rng.choice(["set", "set", "set", "remove", "add"])
            if action == "add" or key is None:
                collection[f"{self._letter}key{self._count}"] = self.fresh("")
            elif action == "remove":
                if len(collection) > 1 and key not in NAMES:
                    del collection[key]
            elif not isinstance(collection[key], dict | list):
                collection[key] = self.fresh(collection[key])
            return
        at = rng.randrange(len(collection))
        action = rng.choice(["set", "remove", "add", "add", "move"])
        if action == "remove":
            del collection[at]
        elif action == "move":
            collection.insert(rng.randrange(len(collection)), collection.pop(at))
        elif action == "set" and not isinstance(collection[at], dict | list):
            collection[at] = self.fresh(collection[at])
        elif action == "add":
            collection.insert(rng.randint(at, len(collection)), self._renewed(collection[at]))

    def _renewed(self, value: Any) -> Any:
        """Another element like this one, under names of its own."""
        if isinstance(value, dict):
            return {key: self._renewed(inner) for key, inner in value.items()}
        return [self._renewed(inner) for inner in value] if isinstance(value, list) else self.fresh(value)


def walk(value: Any) -> Iterator[Any]:
    """All collections inside, but for what names the object."""
    if isinstance(value, dict | list):
        yield value
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if key not in FIXED:
                yield from walk(inner)


def name_of(items: list[Any]) -> str:
    """The field that names the elements of a list; '' where none does."""
    for name in NAMES:
        values = [item.get(name) for item in items if isinstance(item, dict)]
        if len(values) == len(items) == len({repr(v) for v in values}) and None not in values:
            return name
    return ""


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Scalars and empty collections by path; the elements that nothing names are scalars, too."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        name = name_of(value)
        for item in value:
            if name:
                yield from leaves(item, (*path, str(item[name])))
            else:
                yield (*path, json.dumps(item, sort_keys=True)), None
    else:
        yield path, value


def merge(sides: list[Any], kind: str, on: str) -> tuple[Any, MergedPackage]:
    path = kind if kind.endswith(".yaml") else "a.yaml"
    packages = [{path: yaml.dump(side, sort_keys=False).encode()} for side in sides]
    done = merge_packages(*packages, on_conflict=on)  # type: ignore[arg-type]
    again = merge_packages(packages[0], packages[1], dict(done.files), on_conflict=on)  # type: ignore[arg-type]
    if not done.has_conflicts:
        # Where nothing but likeness would tell what local has already (law D), it is a question.
        assert not again.changes or again.has_conflicts, "a second merge changes what was settled in silence"
    return yaml.safe_load(done.files[path]), done


def check_nothing_is_invented(original: Any, upstream: Any, local: Any, result: Any) -> None:
    before, theirs, ours, now = (dict(leaves(side)) for side in (original, upstream, local, result))
    scalars = {repr(value) for side in (before, theirs, ours) for value in side.values()}
    for path, value in now.items():
        if value in ({}, []):
            assert value in (theirs.get(path), ours.get(path)), f"{path} is empty"
        else:
            assert repr(value) in scalars, f"{path}: {value}"
        if path in before and (path in theirs or path in ours):
            assert value in (theirs.get(path), ours.get(path)), f"{path}: {value}"
    often = [Counter(path for path, _ in leaves(side)) for side in (upstream, local, result)]
    for path, count in often[2].items():
        assert count <= max(1, often[0][path], often[1][path]), f"{path} is there {count} times"
    for path in theirs.keys() & ours.keys() & before.keys():
        if not is_of_nameless(path):
            assert any(at[: len(path)] == path for at in now), f"{path} is gone"
    for name, fields in required(upstream, local).items():
        for element in elements(result, name):
            assert fields <= element.keys(), f"{name}: {element} lacks one of {fields}"


def is_of_nameless(path: tuple[Any, ...]) -> bool:
    """Whether a path leads to an element that nothing names: the sides may have changed it together."""
    return str(path[-1])[:1] in ("{", "[")


def elements(value: Any, name: str) -> Iterator[dict[str, Any]]:
    for each in walk(value):
        if isinstance(each, dict):
            for key, inner in each.items():
                if key == name and isinstance(inner, list):
                    yield from (item for item in inner if isinstance(item, dict))


def required(*sides: Any) -> dict[str, set[str]]:
    """By the name of a list the fields that all its elements have on both sides."""
    lists = {key for side in sides for each in walk(side) if isinstance(each, dict) for key in each}
    found = {name: [set(element) for side in sides for element in elements(side, name)] for name in lists}
    return {name: set.intersection(*fields) for name, fields in found.items() if fields}


def check_changes_of_one_side(original: Any, upstream: Any, local: Any, result: Any) -> None:
    before, theirs, ours, now = (dict(leaves(side)) for side in (original, upstream, local, result))
    prefixes = [{path[:at] for path in side for at in range(len(path))} for side in (before, theirs, ours)]
    around = set.intersection(*prefixes)
    missing = object()
    for path in before.keys() | theirs.keys() | ours.keys():
        if path[:-1] not in around or any(path in of_side for of_side in prefixes) or is_of_nameless(path):
            continue
        values = [side.get(path, missing) for side in (before, theirs, ours)]
        if values[1] != values[0] == values[2]:
            assert now.get(path, missing) == values[1], f"{path} is not as the one side that changed it has it"


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=scaled(20), derandomize=True, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_comes_out_is_what_a_side_has(kind: str, seed: int) -> None:
    rng = random.Random(seed)
    original = yaml.safe_load(KINDS[kind])
    upstream, local = Edits(rng, "u").edited(original), Edits(rng, "l").edited(original)
    sides = [original, upstream, local]
    exchanged = [original, local, upstream]
    has_conflicts = set()
    for on, case in (("upstream", sides), ("local", exchanged)):
        result, done = merge(case, kind, on)
        has_conflicts.add(done.has_conflicts)
        check_nothing_is_invented(case[0], case[1], case[2], result)
        if not done.has_conflicts:
            check_changes_of_one_side(case[0], case[1], case[2], result)
            check_changes_of_one_side(case[0], case[2], case[1], result)
    assert len(has_conflicts) == 1, "exchanged sides and the other policy give another answer"
