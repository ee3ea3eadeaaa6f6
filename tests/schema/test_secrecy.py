"""What is hidden, by names, texts and places (M6), and what is not."""

from __future__ import annotations

import pytest

from krm_merge.krm.identity import FieldPath, parse_path
from krm_merge.schema.secrecy import Secrecy, hidden_in, is_secret_file, is_secret_name, is_telling
from krm_merge.text.reading.nodes import MappingNode, Node, SequenceNode, from_value, resolved, to_value
from krm_merge.text.reading.reader import read

WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: n, labels: {a: b}}\n"


def root_of(text: str) -> MappingNode:
    root = read(text)
    assert isinstance(root, MappingNode)
    return root


def at(root: Node, path: FieldPath) -> Node | None:
    """What is at a path, as its steps name it."""
    node: Node | None = root
    for step in path:
        node = resolved(node) if node is not None else None
        if isinstance(node, MappingNode):
            node = node.get(str(step))
        elif isinstance(node, SequenceNode):
            items = (item for item in node.items if isinstance(item, MappingNode))
            keys = dict(step) if isinstance(step, tuple) else {}
            matches = [item for item in items if all(to_value(item.get(name)) == key for name, key in keys.items())]
            node = node.items[step] if isinstance(step, int) else next(iter(matches), None)
    return node


def hides(text: str, path: str) -> bool:
    root = root_of(text)
    steps = parse_path(path) if path else ()
    return Secrecy((root,)).hides(steps, (at(root, steps),))


NAMES = (
    "DB_PASSWORD db_password db-password db.password Api-Token X_SECRET tls.key a/b-key password TOKEN Secret --token "
    "adminPassword PGPASSWORD accessToken apiKey api_key private-key secretAccessKey clientSecret passphrase"
)


@pytest.mark.parametrize("name", NAMES.split())
def test_names_of_secret_variables(name: str) -> None:
    assert is_secret_name(name)


OTHER_NAMES = (
    "key KEYS passwordFile SECRET_NAME TOKEN_URL monkey topologyKey publicKey existingSecret secretKey passwords "
    "key.txt password-file passwordSecretRef"
)


@pytest.mark.parametrize("name", ["", *OTHER_NAMES.split()])
def test_names_of_other_variables(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(("field", "is_hidden"), [("value", True), ("note", False), ("valueFrom", False)])
def test_of_a_secret_variable_only_the_value_is_hidden(field: str, is_hidden: bool) -> None:
    text = f"{WIDGET}spec: {{env: [{{name: DB_PASSWORD, {field}: a}}]}}\n"
    assert hides(text, f"spec.env[name=DB_PASSWORD].{field}") is is_hidden


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD=a",
        "  export API_TOKEN='a'",
        "a: b\n- db_password: a\n",
        'x = {"api-token": "a"}',
        '{"api-token":"a"}',
        "--token=a",
        "serve --x\n--client-secret=a",
        "tls.key: |\n  a",
        "kind: secret",
        '{"KIND": "Secret"}',
        "-----BEGIN PRIVATE KEY-----",
        "env:\n- name: API_TOKEN\n  value: a",
        '{"name":"API_TOKEN","value":"a"}',
        "env:\r\n- name: API_TOKEN\r\n  value: a\r\n",
        "run --password a --verbose",
        "run \\\n  --password \\\n  a",
        "run A=b DB_PASSWORD=a",
        "x = {user: b, password: a}",
        "# password: a",
        "# - name: DB_PASSWORD\n#   value: a",
        "DB_PASSWORD=$2b$10$a",
        "password: ${PASSWORD:-a}",
        'broken {"p\\u0061ssword":"a"',
        '{"p\\u0061ssword":"a"}',
        "broken: [\nkind: !!binary U2VjcmV0",
        '{"b": "{\\"password\\":\\"a\\"}"}',
        "password:\n- a",
        "password: {value: a}",
        "args: [--password, a]",
        "b: |\n  c: |\n    kind: Secret",
        '{"auths":{"b":{"auth":"a"}}}',
    ],
)
def test_texts_that_hold_a_secret(text: str) -> None:
    assert is_telling(text)
    assert is_secret_file(text.encode())
    assert next(hidden_in({"a": [text]})) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the password is checked",
        "image: registry/app-token:v1",
        "registry/app-token:v1",
        "password: $PASSWORD",
        "password: ${PASSWORD}",
        'password: "{{ .Values.password }}"',
        "password: <your password>",
        "password:",
        "password: ''",
        "kind: SecretStore",
        "kind: ConfigMap",
        "name: API_TOKEN\nvalueFrom: a",
        "passwords: a",
        "password: # mine",
        "password: $(cat file)",
        "token: true\npassword: null",
        '{"token": false, "level": "a"}',
        "run --password-file /file",
        "run --password $PASSWORD",
        "run --token",
        "run --token --level a",
        "args: [--password, --level]",
        "password: {secretKeyRef: {name: a}}",
        "b: |\n  kind: SecretStore",
    ],
)
def test_texts_that_hold_none(text: str) -> None:
    assert not is_telling(text)
    assert not is_secret_file(text.encode())


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ("env: [{name: API_TOKEN, value: a}]", "spec.env[name=API_TOKEN].value"),
        ("env: [{name: API_TOKEN, value: a}]", "spec.env[name=API_TOKEN]"),
        ("env: [{name: API_TOKEN, value: a}]", "spec.env[0].value"),
        ("env: [{name: API_TOKEN, value: {a: b}}]", "spec.env[0].value.a"),
        ("env: [{name: API_TOKEN, value: 12}]", "spec.env"),
        ("env: [{name: API_TOKEN, value: 12}]", ""),
        # Which element it is, its position or its key does not say.
        ("env: [{name: A, value: a}, {name: API_TOKEN, value: b}]", "spec.env[0].value"),
        ("env: [{id: x, name: API_TOKEN, value: b}]", "spec.env[id=x].value"),
        ("env: {API_TOKEN: a}", "spec.env.API_TOKEN"),
        ("env: {API_TOKEN: 12}", "spec.env"),
        ("t: {kind: Secret, data: {a: b}}", "spec.t.data.a"),
        ("t: {kind: Secret, data: {a: b}}", "spec.t"),
        ("t: {kind: Secret, data: {name: b}}", "spec.t.data.name"),
        ("t: {kind: Secret, metadata: {name: x, annotations: {a: b}}}", "spec.t.metadata.annotations.a"),
        ("t: [{kind: ConfigMap, data: {a: b}}, {kind: Secret, data: {a: b}}]", "spec.t[1].data.a"),
        ("stringData: {a: b}", "spec.stringData.a"),
        ("password: a", "spec"),
        ("passwords: {token: [a, b]}", "spec.passwords.token[0]"),
        ("password: {value: a}", "spec.password.value"),
        ("t: {kind: !!binary U2VjcmV0, data: {a: b}}", "spec.t.data.a"),
        ("t: {!!binary a2luZA==: Secret, data: {a: b}}", "spec.t.data.a"),
        ("args: [--password, a]", "spec.args[1]"),
        ("args: [--password, a]", "spec.args"),
        ("p: [{path: /a/password, value: b}]", "spec.p[0].value"),
        ("p: [{path: /a/stringData/0, value: {b: c}}]", "spec.p[0].value.b"),
        ("p: [{target: {kind: Secret}, patch: [{path: /data/a, value: b}]}]", "spec.p[0].patch[0].value"),
        ('p: [{target: {kind: "S.*t"}, patch: [{path: /data/a, value: b}]}]', "spec.p"),
        ('a: \'{"kind":"Secret","data":{"b":"c"}}\'', "spec.a.data.b"),
    ],
)
def test_places_that_are_hidden(spec: str, path: str) -> None:
    assert hides(f"{WIDGET}spec:\n  {spec}\n", path)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ("env: [{name: A, value: a}, {name: API_TOKEN, value: b}]", "spec.env[name=A].value"),
        ("env: [{name: API_TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}]", "spec.env"),
        ("env: {API_TOKEN: true}", "spec.env"),
        ("env: {API_TOKEN: null}", "spec.env"),
        ("env: {API_TOKEN: {name: s}}", "spec.env"),
        ("env: {API_TOKEN: {name: s}}", "spec.env.API_TOKEN"),
        ("ref: {kind: Secret, name: s}", "spec.ref.name"),
        ("t: {kind: Secret, metadata: {name: x}, data: {a: b}}", "spec.t.metadata.name"),
        ("t: {kind: Secret, data: {a: b}}", "spec.t.kind"),
        ("t: {kind: Secret, data: {a: b}}", "spec.replicas"),
        ("template: {metadata: {annotations: {auth-secret: s}}}", "spec"),
        ("secretName: s", "spec"),
        ('token: ""', "spec"),
        ("password: ${PASSWORD}", "spec"),
        ("a: [{name: b, args: [--password, c]}, {name: d, args: [e]}]", "spec.a[name=d].args[0]"),
        ("args: [--password-file, /a]", "spec"),
        ("p: [{path: /a/secretName, value: b}]", "spec"),
        ('p: [{target: {kind: "("}, patch: a}]', "spec"),
        ("p: [{target: {kind: Service}, patch: [{path: /data/a, value: b}]}]", "spec"),
        ('a: \'{"kind":"Secret","data":{"b":"c"}}\'', "spec.b"),
        ("tolerations: [{key: a, value: b}]", "spec"),
    ],
)
def test_places_that_are_shown(spec: str, path: str) -> None:
    assert not hides(f"{WIDGET}spec:\n  {spec}\n", path)


@pytest.mark.parametrize("path", ["data.a", "data.name", "immutable", "metadata", "metadata.annotations.a", ""])
@pytest.mark.parametrize("kind", ["Secret", "secret", "SECRET", "SecretList"])
def test_a_secret_is_hidden_as_a_whole(kind: str, path: str) -> None:
    assert hides(f"kind: {kind}\nmetadata: {{name: s, annotations: {{a: b}}}}\ndata: {{a: b}}\nimmutable: true\n", path)


@pytest.mark.parametrize("path", ["metadata.name", "metadata.namespace", "metadata.labels.a"])
def test_of_a_secret_its_name_is_shown(path: str) -> None:
    assert not hides(WIDGET.replace("Widget", "Secret"), path)


def test_what_one_side_hides_is_hidden_on_all() -> None:
    here, there = (
        root_of(f"{WIDGET}spec: [{{name: A, value: x}}]\n"),
        root_of(f"{WIDGET}spec: [{{name: API_TOKEN, value: x}}]\n"),
    )
    path: FieldPath = ("spec", 0, "value")
    assert not Secrecy((here,)).hides(path, (at(here, path),))
    assert Secrecy((here, there)).hides(path, (at(here, path),))
    # A side that no text holds, as a function made it.
    rendered = from_value(to_value(there))
    assert isinstance(rendered, MappingNode)
    assert Secrecy((here, rendered)).hides(path, (at(here, path),))


def test_the_place_of_a_variable_in_a_list_has_its_name() -> None:
    root = root_of(f"{WIDGET}spec:\n- {{name: A_KEY, value: x}}\n- {{name: B_KEY, value: x}}\n")
    places = [Secrecy((root,)).place(path, (at(root, path),)) for path in (("spec", 0, "value"), ("spec", 1))]
    assert places == [("spec", 0, "value", "A_KEY"), ("spec", 1, "B_KEY")]
    assert Secrecy((root,)).place(("spec",), (None,)) == ("spec",)


@pytest.mark.parametrize("start", ["", "---\na: b\n---\n"])
def test_files_that_are_hidden(start: str) -> None:
    assert is_secret_file(f"{start}env:\n- value: a\n  name: API_TOKEN\n".encode())


@pytest.mark.parametrize("data", [b"value: a\nname: b\n", b"\xff value"])
def test_files_that_are_shown(data: bytes) -> None:
    assert not is_secret_file(data)
