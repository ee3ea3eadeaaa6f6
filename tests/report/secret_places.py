"""Places that hold secrets by another name than Secret: a file each, with VALUE for what must not be shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

POLICY = """\
apiVersion: fn.kpt.dev/v1alpha1
kind: MergePolicy
metadata:
  name: merge-policy
  annotations:
    config.kubernetes.io/local-config: "true"
redact:
- path: spec.connection.uri
- {kind: Widget, path: "spec.users[*].pin"}
- {kind: Gadget, path: spec.parts, field: "code*"}
- field: "*_DSN"
- {group: vault.example.com, kind: Safe}
"""
"""What a user adds to the places that are always hidden."""

_OPEN = "\n".join(f"  line{number}: {number}" for number in range(8))


def _widget(fields: str, *, kind: str = "Widget", api_version: str = "example.com/v1") -> str:
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: NAME\n{fields}\nstatus:\n{_OPEN}\n"


def _workload(kind: str, path: str, api_version: str = "apps/v1", *, variable: str = "DB_PASSWORD") -> str:
    """A workload with a variable in its containers at a path of mappings."""
    indent, text = 0, f"apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: NAME\n"
    for step in path.split("."):
        text += f"{'  ' * indent}{step}:\n"
        indent += 1
    at = "  " * (indent - 1)
    return text + (
        f"{at}- name: web\n{at}  image: web:1\n{at}  env:\n"
        f"{at}  - name: LOG_LEVEL\n{at}    value: info\n{at}  - name: {variable}\n{at}    value: VALUE\n"
    )


def _variable(name: str) -> str:
    return _workload("Deployment", "spec.template.spec.containers", variable=name)


def _annotate(kind: str, api_version: str) -> str:
    applied = f'{{"kind":"{kind}","spec":{{"pin":"VALUE"}}}}'
    return (
        f"apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: NAME\n  annotations:\n"
        f"    kubectl.kubernetes.io/last-applied-configuration: |\n      {applied}\nspec: {{}}\n"
    )


def _secret(kind: str) -> str:
    return f"apiVersion: v1\nkind: {kind}\nmetadata:\n  name: NAME\nstringData:\n  p: VALUE\n"


PLACES: Mapping[str, str] = {
    # Variables of containers, by the kind of the workload.
    "Deployment": _workload("Deployment", "spec.template.spec.containers"),
    "StatefulSet": _workload("StatefulSet", "spec.template.spec.containers"),
    "DaemonSet, init container": _workload("DaemonSet", "spec.template.spec.initContainers"),
    "Pod": _workload("Pod", "spec.containers", "v1"),
    "Job": _workload("Job", "spec.template.spec.containers", "batch/v1"),
    "CronJob": _workload("CronJob", "spec.jobTemplate.spec.template.spec.containers", "batch/v1"),
    "custom workload": _workload("Widget", "spec.steps", "example.com/v1"),
    # By the name of the variable.
    "token": _variable("GITHUB_TOKEN"),
    "secret": _variable("OAUTH_CLIENT_SECRET"),
    "key": _variable("AWS_SECRET_ACCESS_KEY"),
    "lower case": _variable("db_password"),
    "dashes": _variable("api-token"),
    "mixed case": _variable("Session_Key"),
    "without a word before it": _variable("PASSWORD"),
    # Written in another way.
    "value first": _widget("spec:\n  env:\n  - value: VALUE\n    name: DB_PASSWORD"),
    "flow style": _widget("spec:\n  variables: [{name: A, value: b}, {name: DB_TOKEN, value: VALUE}]"),
    "several lines": _widget("spec:\n  env:\n  - name: TLS_KEY\n    value: |\n      begin\n      VALUE\n      end"),
    "key and value": _widget("spec:\n  settings:\n  - key: API_TOKEN\n    value: VALUE"),
    "map of variables": _widget("spec:\n  env:\n    LOG: info\n    DB_PASSWORD: VALUE"),
    "ConfigMap": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata:\n  DB_PASSWORD: VALUE\n",
    "file in a ConfigMap": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata:\n  app.env: |\n    A=b\n"
    "    DB_PASSWORD=VALUE\n    C=d\n",
    "private key": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata:\n  ca: |\n"
    "    -----BEGIN RSA PRIVATE KEY-----\n    VALUE\n    -----END RSA PRIVATE KEY-----\n",
    "option": _widget("spec:\n  args: [serve, --password=VALUE]"),
    # What kubectl applied.
    "applied Deployment": _annotate("Deployment", "apps/v1"),
    "applied custom resource": _annotate("Widget", "example.com/v1"),
    # Kinds in another case.
    "kind: secret": _secret("secret"),
    "kind: SECRET": _secret("SECRET"),
    "kind: SecretLIST": "apiVersion: v1\nkind: SecretLIST\nmetadata: {name: NAME}\nitems:\n- metadata: {name: a}\n"
    "  data: {p: VALUE}\n",
    # Secrets inside of other resources.
    "template": _widget(
        "spec:\n  template:\n    apiVersion: v1\n    kind: Secret\n    metadata: {name: a}\n"
        "    stringData:\n      p: VALUE"
    ),
    "template with data": _widget("spec:\n  manifest:\n    kind: Secret\n    data:\n      p: VALUE"),
    "template with annotations": _widget(
        "spec:\n  manifest:\n    kind: Secret\n    metadata:\n      name: a\n      annotations: {pin: VALUE}"
    ),
    "template in a list": _widget(
        "spec:\n  objects:\n  - kind: ConfigMap\n    metadata: {name: a}\n    data: {a: b}\n"
        "  - kind: secret\n    metadata: {name: b}\n    data:\n      p: VALUE"
    ),
    "stringData without a kind": _widget("spec:\n  secretTemplate:\n    stringData:\n      p: VALUE"),
    "manifest in a text": _widget("spec:\n  manifest: |\n    kind: Secret\n    stringData:\n      p: VALUE"),
    # What the user hides.
    "path": _widget("spec:\n  connection:\n    uri: VALUE"),
    "path in a list": _widget("spec:\n  users:\n  - name: a\n    pin: VALUE"),
    "field below a path": _widget("spec:\n  parts:\n    inner:\n      codeA: VALUE", kind="Gadget"),
    "field": _widget("spec:\n  sentry_dsn: VALUE"),
    "variable by a pattern": _variable("SENTRY_DSN"),
    "kind": _widget("spec:\n  a: VALUE", kind="Safe", api_version="vault.example.com/v1"),
}
"""Resources."""

FILES: Mapping[str, str] = {
    "values.yaml": "a: b\ndb_password: VALUE\n",
    "settings.yaml": "a: b\nredis_dsn: VALUE\n",
    ".env": "A=b\nDB_PASSWORD=VALUE\nC=d\n",
    "broken.yaml": "kind: Deployment\nmetadata: {name: a}\nenv:\n- name: DB_PASSWORD\n  value: VALUE\nbroken: [\n",
    "broken.json": '{"kind": "secret", "data": {"p": "VALUE"}',
    "install.sh": "set -e\nexport SENTRY_DSN=VALUE\nrun\n",
}
"""Files without resources, and files that do not parse."""

SIDES = ("original", "upstream", "local")


def secret_of(number: int, side: str) -> str:
    """What a side has at a place."""
    return f"hush{number:02}{side}"


def package(side: str, *, without_resources: bool = False) -> dict[str, bytes]:
    """A version of a package with every place; all of them differ between the sides."""
    files = {"merge-policy.yaml": POLICY.encode(), "keep.txt": b""}
    for number, (file, text) in enumerate(_texts()):
        if not without_resources or file in FILES:
            files[file] = text.replace("VALUE", secret_of(number, side)).encode()
    return files


def leaks(text: str) -> list[str]:
    """The places whose values are in a text."""
    names = [*PLACES, *FILES]
    return [name for number, name in enumerate(names) if f"hush{number:02}" in text]


def _texts() -> Iterator[tuple[str, str]]:
    for number, text in enumerate(PLACES.values()):
        yield f"p{number:02}.yaml", text.replace("NAME", f"n{number:02}")
    yield from FILES.items()
