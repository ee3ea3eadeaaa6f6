"""Manifests as projects release them and charts render them, of any size, always the same for the same version.

`release(version, apps)` is an `install.yaml`: a Namespace, CustomResourceDefinitions, then for each app a
ServiceAccount, Role, RoleBinding, ConfigMap, Deployment and Service. `chart` is what `helm template` prints of it.
Version 2 differs from version 1 in ways that releases do:

- all images have the tag v2, and every third Deployment has another argument
- the app `app-1` has one resource more, a NetworkPolicy; the last app is new, with all of its resources
- the ConfigMap of `app-0` is gone
- the first CustomResourceDefinition has one field more
"""

from __future__ import annotations

from textwrap import dedent, indent

HEAD = "# This file is generated. Do not edit.\n"


def release(version: int, apps: int = 32) -> str:
    """An `install.yaml` of about six resources for each app."""
    return HEAD + "---\n".join(text for _, text in _resources(version, apps))


def chart(version: int, apps: int = 32, name: str = "shop") -> str:
    """What `helm template` prints: each document with the path of its template, none with a namespace."""
    return "".join(
        f"---\n# Source: {name}/templates/{path}\n{text}".replace("  namespace: shop\n", "")
        for path, text in _resources(version, apps)
        if "kind: Namespace" not in text
    )


def documents(text: str) -> list[str]:
    """The documents of a release, without its head."""
    return text.removeprefix(HEAD).split("---\n")


def app_names(version: int, apps: int) -> list[str]:
    """The apps of a version: one more in the second."""
    return [f"app-{number}" for number in range(apps + version - 1)]


def _resources(version: int, apps: int) -> list[tuple[str, str]]:
    files = [("namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n")]
    files += [(f"crds/{plural}.yaml", _definition(plural, version)) for plural in ("widgets", "gadgets")]
    for number, app in enumerate(app_names(version, apps)):
        files += [(f"{app}/{kind}.yaml", text) for kind, text in _app(app, number, version).items()]
    return files


def _definition(plural: str, version: int) -> str:
    kind = plural.removesuffix("s").capitalize()
    more = "color: {type: string}\n" if version > 1 and plural == "widgets" else ""
    return dedent(f"""\
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata:
          name: {plural}.example.com
        spec:
          group: example.com
          names: {{kind: {kind}, plural: {plural}}}
          scope: Namespaced
          versions:
          - name: v1
            served: true
            storage: true
            schema:
              openAPIV3Schema:
                type: object
                properties:
                  spec:
                    type: object
                    properties:
                      size: {{type: integer}}
        """) + indent(more, " " * 14)


def _metadata(name: str, app: str) -> str:
    return f"metadata:\n  name: {name}\n  namespace: shop\n  labels:\n    app.kubernetes.io/name: {app}\n"


def _app(app: str, number: int, version: int) -> dict[str, str]:
    arguments = ["--level=info", f"--port={8000 + number}"]
    if version > 1 and number % 3 == 0:
        arguments.append("--metrics")
    listed = "".join(f"        - {argument}\n" for argument in arguments)
    texts = {
        "serviceaccount": f"apiVersion: v1\nkind: ServiceAccount\n{_metadata(app, app)}",
        "role": (
            f"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n{_metadata(app, app)}"
            "rules:\n- apiGroups: ['']\n  resources: [configmaps]\n  verbs: [get, list]\n"
        ),
        "rolebinding": (
            f"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n{_metadata(app, app)}"
            f"roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: {app}\n"
            f"subjects:\n- kind: ServiceAccount\n  name: {app}\n"
        ),
        "configmap": (
            f"apiVersion: v1\nkind: ConfigMap\n{_metadata(f'{app}-config', app)}"
            f"data:\n  mode: fast\n  number: '{number}'\n"
        ),
        "deployment": (
            f"apiVersion: apps/v1\nkind: Deployment\n{_metadata(app, app)}"
            "spec:\n  replicas: 1\n"
            f"  selector:\n    matchLabels:\n      app.kubernetes.io/name: {app}\n"
            f"  template:\n    metadata:\n      labels:\n        app.kubernetes.io/name: {app}\n"
            "    spec:\n      containers:\n"
            f"      - name: {app}\n        image: registry.example.com/shop/{app}:v{version}\n"
            f"        args:\n{listed}"
        ),
        "service": (
            f"apiVersion: v1\nkind: Service\n{_metadata(app, app)}"
            f"spec:\n  ports:\n  - name: http\n    port: 80\n    targetPort: {8000 + number}\n"
            f"  selector:\n    app.kubernetes.io/name: {app}\n"
        ),
    }
    if version > 1 and number == 0:
        del texts["configmap"]
    if version > 1 and number == 1:
        texts["networkpolicy"] = (
            f"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n{_metadata(app, app)}"
            "spec:\n  podSelector: {}\n  policyTypes: [Ingress]\n"
        )
    return texts
