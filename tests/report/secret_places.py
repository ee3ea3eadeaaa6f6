"""Places that hold secrets by another name than Secret: a file each, with VALUE for what must not be shown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

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


def _config(key: str, text: str) -> str:
    """A ConfigMap with a text, which merges by its fields where it has some."""
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: NAME}}\ndata:\n  {key}: |\n{lines}\n"


def _config_line(key: str, text: str) -> str:
    """The same with a text in one line."""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: NAME}}\ndata:\n  {key}: {json.dumps(text)}\n"


def _patch(text: str, *, target: str = "kind: ConfigMap", kind: str = "Kustomization", field: str = "patches") -> str:
    """A resource with a patch."""
    version = {"Kustomization": "kustomize.config.k8s.io/v1beta1"}.get(kind, "fn.kpt.dev/v1alpha1")
    # Where the whole element is chosen, its list is written as the one around it: at the column of its key.
    pad = "  " if text.startswith("-") else "    "
    lines = "\n".join(pad + line for line in text.splitlines())
    return (
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: NAME}}\n"
        f"{field}:\n- target: {{{target}}}\n  patch:{lines[3:] if text.startswith('|') else chr(10) + lines}\n"
    )


def _operation(path: str, value: str = "VALUE") -> str:
    return f"- op: replace\n  path: {path}\n  value: {value}"


_IN_TEXTS = {
    # Texts that merge by their fields.
    ".dockerconfigjson": _config_line(".dockerconfigjson", '{"auths":{"x":{"password":"VALUE"}}}'),
    ".dockercfg": _config_line(".dockercfg", '{"x":{"auth":"VALUE"}}'),
    "config.json": _config_line("config.json", '{"auths":{"x":{"auth":"VALUE"}}}'),
    "config.json on several lines": _config("config.json", '{\n  "auths": {\n    "x": {"username": "VALUE"}\n  }\n}'),
    "a.yaml": _config("a.yaml", "password: VALUE\nport: 1"),
    "token in a text": _config("a.yaml", "a: b\ntoken: VALUE"),
    "secret in a text": _config("a.yaml", "oauth:\n  secret: VALUE\n  id: a"),
    "number in a text": _config("a.yaml", "password: 9VALUE\na: b"),
    "values.yaml": _config("values.yaml", "auth:\n  adminPassword: VALUE\n  username: a"),
    "values.yaml, flow style": _config("values.yaml", "auth: {user: a, rootPassword: VALUE}\na: b"),
    "values.yaml, token": _config("values.yaml", "github:\n  accessToken: VALUE\n  url: x"),
    "values.yaml, key": _config("values.yaml", "api:\n  apiKey: VALUE\n  url: x"),
    "values.yaml, client": _config("values.yaml", "oidc:\n  clientSecret: VALUE\n  clientID: x"),
    "list in a text": _config("a.yaml", "users:\n- name: a\n  password: VALUE\nb: c"),
    "several passwords": _config("a.yaml", "password:\n- VALUE\nb: c"),
    "value of a password": _config("a.yaml", "password:\n  value: VALUE\nb: c"),
    "variables in a text": _config("a.yaml", "env:\n- name: DB_PASSWORD\n  value: VALUE\nb: c"),
    "variables in JSON": _config_line("a.json", '{"env":[{"value":"VALUE","name":"DB_PASSWORD"}]}'),
    "positions in JSON": _config_line("a.json", '{"a":[{"id":1,"value":"VALUE","key":"API_TOKEN"}]}'),
    "Secret in a text": _config("a.yaml", "kind: Secret\nmetadata:\n  name: a\ndata:\n  p: VALUE"),
    "Secret in JSON": _config_line("a.json", '{"kind":"Secret","metadata":{"name":"a"},"data":{"p":"VALUE"}}'),
    "escaped Secret in JSON": _config_line("a.json", '{"k\\u0069nd":"Secr\\u0065t","data":{"p":"VALUE"}}'),
    "escaped name in JSON": _config_line("a.json", '{"a":"b","p\\u0061ssword":"VALUE"}'),
    "JSON list": _config_line("a.json", '[{"kind":"Secret","data":{"p":"VALUE"}}]'),
    "several documents": _config("a.yaml", "kind: A\n---\nkind: Secret\ndata:\n  p: VALUE"),
    "List in a text": _config_line("a.json", '{"kind":"List","items":[{"kind":"Secret","data":{"p":"VALUE"}}]}'),
    "text in a text": _config("a.yaml", "b.yaml: |\n  password: VALUE\n  a: b\nc: d"),
    "text in a text in a text": _config("a.yaml", "b.yaml: |\n  c.yaml: |\n    password: VALUE\n    a: b\nc: d"),
    "Secret in a text in a text": _config("a.yaml", "b.yaml: |\n  kind: Secret\n  data:\n    p: VALUE\nc: d"),
    "JSON in JSON": _config_line("a.json", json.dumps({"b": json.dumps({"password": "VALUE"}), "c": "d"})),
    "quoted JSON": _config_line("a.json", json.dumps(json.dumps({"password": "VALUE"}))),
    "settings in a text": _config("a.yaml", "b.properties: |\n  db.password=VALUE\n  a=b\nc: d"),
    "script": _config("run.sh", "set -e\nmysql --user a --password VALUE -e q\nrun"),
    "script with an equals sign": _config("run.sh", "set -e\nmysql --user=a --password=VALUE -e q\nrun"),
    "script with a variable": _config("run.sh", "set -e\nexec env A=b PGPASSWORD=VALUE psql\nrun"),
    "hash": _config("a.env", "A=b\nADMIN_PASSWORD=$2b$10$VALUE\nC=d"),
    "default of a reference": _config("a.env", "A=b\nDB_PASSWORD=${PW:-VALUE}\nC=d"),
    "connection string": _config("a.ini", "[db]\ndsn = host=db user=a password=VALUE\nb = c"),
    "connection string with semicolons": _config("a.ini", "[db]\ndsn = Server=db;User Id=a;Password=VALUE;\nb = c"),
    "address with a query": _config("a.ini", "[db]\nurl = jdbc:postgresql://db/x?user=a&password=VALUE\nb = c"),
    "options of Java": _config("a.ini", '[a]\nopts = "-Xmx1g -Dspring.datasource.password=VALUE"\nb = c'),
    "annotation": _widget("spec: {}").replace(
        "  name: NAME\n", "  name: NAME\n  annotations:\n    example.com/db-password: VALUE\n"
    ),
    "JSON in an annotation": _widget("spec: {}").replace(
        "  name: NAME\n",
        '  name: NAME\n  annotations:\n    ad.example.com/checks: \'[{"host":"a","password":"VALUE"}]\'\n',
    ),
}

_IN_PATCHES = {
    "JSON patch of a Secret": _patch("|\n" + _operation("/data/x"), target="kind: Secret, name: a"),
    "6902 patch of a Secret": _patch(
        "|-\n" + _operation("/data/x"), target="version: v1, kind: Secret, name: a", field="patchesJson6902"
    ),
    "list as a patch of a Secret": _patch(_operation("/data/x"), target="kind: Secret", kind="PatchResources"),
    "patch without a kind": _patch("data:\n  x: VALUE", target="kind: Secret", kind="PatchResources"),
    "target by an expression": _patch(_operation("/data/x"), target='kind: "Sec.*|ConfigMap"', kind="PatchResources"),
    "target in lower case": _patch("|\n" + _operation("/data/x"), target="kind: secret"),
    "JSON as a patch": _patch("""|\n[{"op": "add", "path": "/data/x", "value": "VALUE"}]""", target="kind: Secret"),
    "path to a password": _patch("|\n" + _operation("/data/DB_PASSWORD")),
    "path to a password in a list": _patch(_operation("/data/db-password"), kind="PatchResources"),
    "path with an escape": _patch(_operation("/metadata/annotations/example.com~1token"), kind="PatchResources"),
    "path into a Secret": _patch(_operation("/spec/template/stringData/p"), kind="PatchResources"),
    "patch with a Secret": _patch("|\nkind: Secret\nmetadata: {name: a}\ndata:\n  x: VALUE"),
    "patch with a variable": _patch(
        "- op: add\n  path: /spec/env/-\n  value:\n    name: DB_PASSWORD\n    value: VALUE", kind="PatchResources"
    ),
    "JSON patch in one line": _config_line("patch.json", '[{"op":"add","path":"/data/password","value":"VALUE"}]'),
}


def _arguments(text: str) -> str:
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: NAME}}\nspec:\n  containers:\n  - name: a\n{text}\n"


_IN_ARGUMENTS = {
    "argument": _arguments('    args: ["--db-password", "VALUE"]'),
    "argument in a block": _arguments("    args:\n    - --user\n    - a\n    - --token\n    - VALUE\n    - --verbose"),
    "argument of a command": _arguments('    command: [serve, -admin-password, VALUE, "--port", "1"]'),
    "number as an argument": _arguments('    args: ["--password", "VALUE", "-v"]').replace('"VALUE"', '"0VALUE"'),
    "arguments in a word": _arguments('    command: [sh, -c, "mysql --password VALUE -e q"]'),
    "arguments with an equals sign": _arguments('    command: [sh, -c, "mysql --user=a --password=VALUE -e q"]'),
    "arguments in a text": _config("a.yaml", "args: [--password, VALUE]\nb: c"),
}


def _of_kind(kind: str) -> str:
    return f"apiVersion: v1\nkind: {kind}\nmetadata:\n  name: NAME\ndata:\n  p: VALUE\n"


_TAGGED = {
    "binary kind": _of_kind("!!binary U2VjcmV0"),
    "binary kind with a whole tag": _of_kind("!<tag:yaml.org,2002:binary> U2VjcmV0"),
    "escaped kind": _of_kind('"Secr\\u0065t"'),
    "kind with a tag": _of_kind("!!str Secret"),
    "kind with an anchor": _of_kind("&kind Secret"),
    "kind in a block": _of_kind(">-\n  Secret"),
    "binary kind of a template": _widget("spec:\n  manifest:\n    kind: !!binary U2VjcmV0\n    data:\n      p: VALUE"),
    "binary name of a variable": _widget("spec:\n  env:\n  - name: !!binary REJfUEFTU1dPUkQ=\n    value: VALUE"),
    "List of Secrets": "apiVersion: v1\nkind: List\nmetadata: {name: NAME}\nitems:\n- apiVersion: v1\n  kind: Secret\n"
    "  metadata: {name: a}\n  data: {p: VALUE}\n",
}

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
    **_IN_TEXTS,
    **_IN_PATCHES,
    **_IN_ARGUMENTS,
    **_TAGGED,
}
"""Resources."""

FILES: Mapping[str, str] = {
    "values.yaml": "a: b\ndb_password: VALUE\n",
    ".env": "A=b\nDB_PASSWORD=VALUE\nC=d\n",
    "broken.yaml": "kind: Deployment\nmetadata: {name: a}\nenv:\n- name: DB_PASSWORD\n  value: VALUE\nbroken: [\n",
    "broken.json": '{"kind": "secret", "data": {"p": "VALUE"}',
    "install.sh": "set -e\nexport API_TOKEN=VALUE\nrun\n",
    "plain.yaml": "a: b\npassword: VALUE\n",
    "escaped.json": '{"k\\u0069nd": "Secret", "data": {"p": "VALUE"}}\n',
    "broken-escaped.json": '{"kind": "Secr\\u0065t", "data": {"p": "VALUE"}',
    "patch.yaml": "- op: replace\n  path: /data/password\n  value: VALUE\n",
    "notes.txt": "Run:\n  serve --password VALUE --verbose\n",
}
"""Files without resources, and files that do not parse."""

HARMLESS: Mapping[str, str] = {
    "policy for passwords": _widget("spec:\n  passwordPolicy: VALUE"),
    "name of a Secret": _widget("spec:\n  secretName: VALUE"),
    "reference to a Secret": _widget("spec:\n  passwordSecretRef: VALUE"),
    "reference with a name": _widget("spec:\n  passwordSecretRef:\n    name: VALUE\n    key: password"),
    "reference under a secret name": _widget("spec:\n  password:\n    secretKeyRef: {name: VALUE, key: a}"),
    "reference by kind": _widget("spec:\n  ref:\n    kind: Secret\n    name: VALUE"),
    "reference to a key": _widget("spec:\n  keyRef: VALUE"),
    "public key": _widget("spec:\n  publicKey: VALUE"),
    "topology key": _widget("spec:\n  topologyKey: VALUE"),
    "key alone": _widget("spec:\n  key: VALUE"),
    "file with a password": _widget("spec:\n  passwordFile: VALUE"),
    "address for tokens": _widget("spec:\n  tokenUrl: VALUE"),
    "lifetime of tokens": _widget("spec:\n  tokenExpirationSeconds: VALUE"),
    "monkey": _widget("spec:\n  monkey: VALUE"),
    "passwords": _widget("spec:\n  passwords: VALUE"),
    "existing Secret": _widget("spec:\n  existingSecret: VALUE"),
    "beside an empty token": _widget('spec:\n  token: ""\n  note: VALUE'),
    "beside a password": _widget("spec:\n  password: x\n  note: VALUE"),
    "beside a variable": _arguments("    env:\n    - {name: DB_PASSWORD, value: x}\n    - {name: LEVEL, value: VALUE}"),
    "kind TokenReview": _widget("spec:\n  audience: VALUE", kind="TokenReview"),
    "kind SealedSecret": _widget("spec:\n  encryptedData:\n    a: VALUE", kind="SealedSecret"),
    "kind SecretStore": _widget("spec:\n  provider: VALUE", kind="SecretStore"),
    "kind ExternalSecret": _widget(
        "spec:\n  data:\n  - secretKey: db-password\n    remoteRef: {key: VALUE, property: password}",
        kind="ExternalSecret",
    ),
    "annotation": _widget("spec: {}").replace(
        "  name: NAME\n", "  name: NAME\n  annotations:\n    nginx.ingress.kubernetes.io/auth-secret: VALUE\n"
    ),
    "option with a file": _arguments('    args: ["--password-file", "/VALUE"]'),
    "option that is on": _arguments('    args: ["--enable-token", "--level", "VALUE"]'),
    "option with a reference": _arguments('    args: ["--password", "$(PASSWORD)", "--level", "VALUE"]'),
    "container beside a secret argument": _arguments(
        '    args: ["--password", "x"]\n  - name: b\n    args: ["--level", "VALUE"]'
    ),
    "image": _arguments("    image: registry.example.com/app-token:VALUE"),
    "image after a key": _arguments('    image: "registry.example.com/secret/password:VALUE"'),
    "volume": _widget("spec:\n  volumes:\n  - name: a\n    secret:\n      secretName: VALUE"),
    "key.txt": _config_line("key.txt", "VALUE"),
    "password.md": _config_line("password.md", "How to choose: VALUE"),
    "secrets.enabled": _config_line("secrets.enabled", "VALUE"),
    "beside a password in a text": _config("a.yaml", "password: x\nport: VALUE"),
    "beside auths": _config("config.json", '{\n  "auths": {"x": {"auth": "y"}},\n  "credsStore": "VALUE"\n}'),
    "text with references": _config("a.yaml", "password: ${PASSWORD}\ntoken: '{{ .Values.token }}'\nlevel: VALUE"),
    "settings with references": _config("a.env", "DB_PASSWORD=$PASSWORD\nTOKEN=\nLEVEL=VALUE"),
    "settings that are on": _config("a.ini", "token = true\npassword=false\nlevel = VALUE"),
    "prose": _config("a.md", "The password is checked.\nA token lives for VALUE.\nAsk for a secret."),
    "Pod in a text": _config("a.yaml", "spec:\n  automountServiceAccountToken: false\n  nodeName: VALUE\na: b"),
    "patch of another kind": _patch("|\n" + _operation("/spec/replicas"), target="kind: Deployment"),
    "patch of a ConfigMap": _patch(_operation("/data/level"), target="kind: ConfigMap", kind="PatchResources"),
    "patch of a SecretStore": _patch(_operation("/spec/a"), target="kind: SecretStore", kind="PatchResources"),
    "path to the name of a Secret": _patch(_operation("/spec/secretName"), kind="PatchResources"),
    "binary kind": _of_kind("!!binary Q29uZmlnTWFw"),
}
"""Resources that look as if they held secrets."""

SIDES = ("original", "upstream", "local")


def secret_of(number: int, side: str) -> str:
    """What a side has at a place."""
    return f"hush{number:03}{side}"


def package(side: str, *, without_resources: bool = False) -> dict[str, bytes]:
    """A version of a package with every place; all of them differ between the sides."""
    files = {"keep.txt": b""}
    for number, (file, text) in enumerate(_texts()):
        if not without_resources or file in FILES:
            files[file] = text.replace("VALUE", secret_of(number, side)).encode()
    return files


def harmless_package(side: str) -> dict[str, bytes]:
    """A version of a package with everything that looks like a secret; all differ between the sides."""
    texts = enumerate(HARMLESS.values())
    return {
        f"p{number:03}.yaml": text.replace("NAME", f"n{number:03}").replace("VALUE", secret_of(number, side)).encode()
        for number, text in texts
    }


def leaks(text: str, names: Sequence[str] = (*PLACES, *FILES)) -> list[str]:
    """The places whose values are in a text."""
    return [name for number, name in enumerate(names) if f"hush{number:03}" in text]


def _texts() -> Iterator[tuple[str, str]]:
    for number, text in enumerate(PLACES.values()):
        yield f"p{number:03}.yaml", text.replace("NAME", f"n{number:03}")
    yield from FILES.items()
