"""The server, by HTTP: what the page asks for, and what nobody else gets."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from e2e.hosts import SECONDS, wait_until
from krm_merge.packages import state_file
from krm_merge.resolve import server as server_module
from krm_merge.resolve.choices import ChoiceJournal, ChoiceStep
from krm_merge.resolve.server import LONGEST_BODY
from report.conflicts import SCHEMA, SECRETS
from resolve.packages import OWN_VALUE, PER_NATURE, all_natures, config_maps, task_of
from resolve.serving import Client, journal_of, serve


@pytest.fixture
def client() -> Iterator[Client]:
    with serve(task_of(*config_maps(2))) as client:
        yield client


def raw(client: Client, request: str) -> bytes:
    """All that is answered on one connection."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=SECONDS) as connection:
        connection.sendall(request.replace("\n", "\r\n").encode())
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while more := connection.recv(65536):
            answer += more
        return answer


# ---- what the page asks for ----------------------------------------------------------------------------------------


def test_the_report_is_the_merge_report_and_its_revision(client: Client) -> None:
    report = client.report()
    assert (report["apiVersion"], report["kind"], report["revision"]) == ("fn.kpt.dev/v1alpha1", "MergeReport", 0)
    assert report["counts"] == {"open": 2, "settled": 0, "automatic": 0, "files": 2}
    (first, second) = report["records"]
    assert (first["original"], first["upstream"], first["local"]) == ("o", "u", "l")
    jsonschema.validate({name: value for name, value in report.items() if name != "revision"}, SCHEMA)
    view = client.view()
    assert view["wordings"][view["words"][first["id"]]]["said"] == "Upstream and you changed the same value."
    assert view["revision"] == 0
    assert first["fingerprint"] == second["fingerprint"]


def test_a_choice_is_answered_with_what_changed(client: Client) -> None:
    (first, _) = client.report()["records"]
    answer = client.choose([first["id"]], "local")
    assert answer.status == 200
    assert (answer.body["revision"], answer.body["open"]) == (1, 1)
    (record,) = answer.body["records"]
    assert (record["id"], record["status"], record["chosen"], record["result"]) == (
        first["id"],
        "settled",
        "local",
        "l",
    )


def test_undo_and_redo(client: Client) -> None:
    (first, _) = client.report()["records"]
    client.choose([first["id"]], "local")
    undone = client.ask("/api/undo", {}).body
    assert (undone["open"], undone["canUndo"], undone["canRedo"]) == (2, False, True)
    redone = client.ask("/api/redo", {}).body
    assert (redone["open"], redone["records"][0]["chosen"]) == (1, "local")
    assert client.ask("/api/redo", {}).status == 422


def test_an_old_revision_is_refused_and_changes_nothing(client: Client) -> None:
    (first, second) = client.report()["records"]
    client.choose([first["id"]], "local")
    before = client.report()
    body = {"revision": 0, "ids": [second["id"]], "choice": "local"}
    answer = client.ask("/api/choose", body)
    assert (answer.status, answer.body["revision"]) == (409, 1)
    for path in ("/api/undo", "/api/redo", "/api/save"):
        assert client.ask(path, {"revision": 0}).status == 409
    assert client.report() == before


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"choice": "value", "value": "[1"}, "not valid YAML"),
        ({"choice": "value", "value": {"a": 1}}, "a mapping, and a string or number is expected"),
        ({"choice": "value"}, "value must be given with the choice value"),
        ({"choice": "local", "value": 1}, "only with it"),
        ({"choice": "recognise"}, "cannot be chosen here"),
        ({"choice": "theirs"}, "choice is not one of"),
        ({"choice": ["local"]}, "choice is not one of"),
        ({"choice": {}}, "choice is not one of"),
        ({"choice": 1}, "choice is not one of"),
        ({"choice": None}, "choice is not one of"),
        ({"choice": "local", "ids": ["unknown"]}, "there is no decision"),
        ({"choice": "local", "ids": []}, "ids is empty"),
    ],
)
def test_what_cannot_be_chosen_is_refused_with_the_reason(client: Client, more: dict[str, object], reason: str) -> None:
    before = client.report()
    body = {"revision": 0, "ids": [before["records"][0]["id"]], **more}
    answer = client.ask("/api/choose", body)
    assert answer.status == 422
    assert reason in answer.body["error"]
    assert client.report() == before


@pytest.mark.parametrize(
    "body",
    [
        {"ids": ["a"], "choice": "local"},
        {"revision": 0, "ids": "a", "choice": "local"},
        {"revision": 0, "ids": [1], "choice": "local"},
        {"revision": 0, "choice": "local"},
        {"revision": 0, "ids": ["a"], "choice": "local", "always": "yes"},
    ],
)
def test_what_is_no_choice_is_refused(client: Client, body: dict[str, object]) -> None:
    assert client.ask("/api/choose", body).status == 400


def test_the_lines_around_a_place(client: Client) -> None:
    (first, _) = client.report()["records"]
    client.choose([first["id"]], "upstream")
    context = client.ask(f"/api/context?id={first['id']}").body
    lines = {
        side: excerpt["lines"][excerpt["start"] : excerpt["stop"]]
        for side, excerpt in context.items()
        if "lines" in excerpt
    }
    assert lines == {
        "original": ["data: {a: o}"],
        "upstream": ["data: {a: u}"],
        "local": ["data: {a: l}"],
        "result": ["data: {a: u}"],
    }
    assert context["marks"]["upstream"] == [["u", True]]
    assert client.ask("/api/context?id=unknown").status == 404
    assert client.ask("/api/context").status == 404


def test_saving_needs_all_settled_and_comes_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_AFTER_SAVING", SECONDS)
    refused = client.ask("/api/save", {})
    assert (refused.status, refused.body["open"]) == (422, 2)
    client.choose([record["id"] for record in client.report()["records"]], "upstream")
    saved = client.ask("/api/save", {"revision": 1})
    assert (saved.status, saved.body["saved"]) == (200, True)
    assert saved.body["files"] == ["0.yaml", "1.yaml", "merge-policy.yaml"]
    assert len(client.saved) == 1
    assert client.ask("/api/save", {}).status == 409


def test_closing_ends_the_server() -> None:
    with serve(task_of(*config_maps(1))) as client:
        assert client.ask("/api/close", {}).body == {"closed": True, "saved": False}
        assert not client.host.is_saved
        # The block waits for the end of the server.
    with pytest.raises(ConnectionRefusedError):
        client.ask("/api/report")


def is_there(client: Client) -> bool:
    try:
        socket.create_connection(("127.0.0.1", client.port), timeout=SECONDS).close()
    except ConnectionError:
        return False
    return True


def test_a_server_that_nobody_asks_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "IDLE_SECONDS", 0)
    with serve(task_of(*config_maps(1))) as client:
        wait_until(lambda: not is_there(client))


def test_a_server_that_takes_long_to_save_ends_after_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(ChoiceJournal[ChoiceStep]):
        def remove(self) -> None:
            # The server looks several times whether it may end.
            time.sleep(1)
            seen.append(is_there(client))

    seen: list[bool] = []
    monkeypatch.setattr(server_module, "_AFTER_SAVING", 0)
    task = task_of(*config_maps(1))
    journal = Slow(state_file(tmp_path, "choices"), partial(ChoiceStep.from_value, "merge-policy.yaml"))
    with serve(task, journal) as client:
        client.choose([client.report()["records"][0]["id"]], "local")
        assert client.ask("/api/save", {}).body["saved"]
        assert seen == [True]
        wait_until(lambda: not is_there(client))


def test_a_fault_of_ours_is_reported_where_it_can_be_read(
    client: Client, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a value of somebody")

    monkeypatch.setattr(client.host.session, "contexts", broken)
    got = client.ask(f"/api/context?id={client.host.session.open[0].id}")
    assert (got.status, got.body) == (500, {"error": "internal error; see the terminal"})
    assert "internal error, nothing was changed: KeyError" in capfd.readouterr().err
    assert client.ask("/api/report").status == 200


# ---- what nobody else gets -----------------------------------------------------------------------------------------

API = ["/api/report", "/api/view", "/api/context?id=x", "/api/change?id=x"]
POSTS = ["/api/choose", "/api/undo", "/api/redo", "/api/save", "/api/close"]


def refusals(client: Client, status: int, **headers: Any) -> None:
    """Every route refuses these headers, and ends the connection."""
    before = client.host.session.revision
    for path in API:
        got = client.ask(path, **headers)
        assert (got.status, got.headers["Connection"]) == (status, "close"), path
    for path in POSTS:
        body = {"revision": before, "ids": [client.host.session.open[0].id], "choice": "local"}
        got = client.ask(path, body, **headers)
        assert (got.status, got.headers["Connection"]) == (status, "close"), path
    assert (client.host.session.revision, client.host.is_saved) == (before, False)


@pytest.mark.parametrize("credentials", [None, "", "Bearer", "Bearer wrong", "Bearer caf\xe9", "Basic dTpw"])
def test_without_the_token_there_is_nothing(client: Client, credentials: str | None) -> None:
    refusals(client, 401, Authorization=credentials)


def test_the_token_is_not_taken_from_the_address(client: Client) -> None:
    assert client.ask(f"/api/report?token={client.token}", Authorization=None).status == 401
    assert len(client.token) >= 43  # 256 bits


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1", "https://127.0.0.1:PORT"])
def test_other_pages_are_refused(client: Client, origin: str) -> None:
    refusals(client, 403, Origin=origin.replace("PORT", str(client.port)))


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_requests_from_other_sites_are_refused(client: Client, site: str) -> None:
    refusals(client, 403, Sec_Fetch_Site=site)


@pytest.mark.parametrize("host", ["evil.example", "localhost:PORT", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:PORT.", ""])
def test_other_names_of_the_server_are_refused(client: Client, host: str) -> None:
    name = host.replace("PORT", str(client.port))
    refusals(client, 421, Host=name)
    assert client.ask("/", Host=name).status == 421


def test_a_second_or_missing_host_is_refused(client: Client) -> None:
    host = f"Host: 127.0.0.1:{client.port}\n"
    assert raw(client, f"GET / HTTP/1.1\n{host}{host}\n").startswith(b"HTTP/1.1 421 ")
    assert raw(client, "GET / HTTP/1.1\n\n").startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize("media_type", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_form_is_refused(client: Client, media_type: str | None) -> None:
    for path in POSTS:
        got = client.ask(path, {"revision": 0}, Content_Type=media_type)
        assert (got.status, got.headers["Connection"]) == (415, "close")


@pytest.mark.parametrize("body", [b"{", b"[]", b"1", b"\xff", b'"' + b"[" * 100_000, b"[" * 100_000])
def test_what_is_no_json_object_is_refused(client: Client, body: bytes) -> None:
    got = client.ask("/api/choose", raw=body)
    assert (got.status, got.headers["Connection"]) == (400, "close")


def post(client: Client, *lines: str) -> str:
    sent = "".join(f"{name}: {value}\n" for name, value in client.headers().items())
    return f"POST /api/undo HTTP/1.1\nHost: 127.0.0.1:{client.port}\n{sent}" + "".join(f"{x}\n" for x in lines) + "\n"


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["Transfer-Encoding: chunked"], 411),
        (["Transfer-Encoding: chunked", "Content-Length: 2"], 411),
        ([f"Content-Length: {LONGEST_BODY + 1}"], 413),
        (["Content-Length: 99999999999999999999"], 413),
        (["Content-Length: -1"], 400),
        (["Content-Length: +2"], 400),
        (["Content-Length: two"], 400),
        (["Content-Length: 2", "Content-Length: 3"], 400),
    ],
)
def test_bodies_are_bounded(client: Client, lines: list[str], status: int) -> None:
    answer = raw(client, post(client, *lines))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Connection: close" in answer


def test_a_body_that_is_refused_is_not_the_next_request(client: Client) -> None:
    smuggled = f"GET / HTTP/1.1\nHost: 127.0.0.1:{client.port}\n\n"
    head = f"POST /api/undo HTTP/1.1\nHost: 127.0.0.1:{client.port}\nContent-Length: {len(smuggled) + 3}\n\n"
    answer = raw(client, head + smuggled)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(
    "path",
    [
        "/../session.py",
        "/page/app.js",
        "/app.js/../../session.py",
        "/%2e%2e/session.py",
        "//etc/passwd",
        "/index.html",
        "/api",
        "/api/",
        "/api/unknown",
        "/.git/config",
    ],
)
def test_nothing_but_the_page_is_read(client: Client, path: str) -> None:
    assert client.ask(path).status == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "PATCH", "CONNECT"])
def test_other_methods_are_refused(client: Client, method: str) -> None:
    got = raw(client, f"{method} /api/save HTTP/1.1\nHost: 127.0.0.1:{client.port}\n\n")
    assert got.startswith(b"HTTP/1.1 405 ")


def test_data_is_not_posted_to_and_posts_are_not_read(client: Client) -> None:
    assert client.ask("/api/report", {}).status == 405
    assert client.ask("/api/save").status == 405
    assert client.ask("/", {}).status == 405
    assert client.ask("/api/report", raw=b"{}", method="GET").status == 400


@pytest.mark.parametrize("path", ["/", "/app.js", "/style.css", "/icon.svg", "/api/report", "/unknown"])
def test_every_answer_says_what_it_may_do(client: Client, path: str) -> None:
    headers = client.ask(path).headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Server" not in headers


def test_the_page_is_for_its_own_address(client: Client) -> None:
    assert client.ask("/app.js", Sec_Fetch_Site="cross-site", Sec_Fetch_Dest="script").status == 403
    assert client.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Dest="iframe").status == 403
    assert client.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Dest="document", Authorization=None).status == 200


def test_the_page_holds_no_data(client: Client) -> None:
    for path in ("/", "/app.js", "/state.js", "/card.js", "/api.js"):
        text = client.ask(path, Authorization=None).body
        assert client.token not in text
        assert "c0" not in text


# ---- the whole -----------------------------------------------------------------------------------------------------


def test_values_of_secrets_are_in_no_answer() -> None:
    values = ("hush-original", "hush-upstream", "hush-local")
    for text in SECRETS.values():
        sides = [{"s.yaml": text.replace("VALUE", value).encode()} for value in values]
        seen = []
        with serve(task_of(*sides)) as client:
            for record in client.report()["records"]:
                seen.append(client.ask(f"/api/context?id={record['id']}"))
                if record["choices"]:
                    seen.append(client.choose([record["id"]], "local"))
                    seen.append(client.choose([record["id"]], "value", value="x"))
            seen += [client.ask("/api/report"), client.ask("/api/view")]
            seen.append(client.ask("/api/save", {}))
        assert not any(value in json.dumps(got.body) for got in seen for value in values)


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  a: VALUE\n"


def test_a_hidden_value_is_shown_to_somebody_who_asks_for_it() -> None:
    sides = [{"s.yaml": SECRET.replace("VALUE", value).encode()} for value in ("one", "two", "three")]
    with serve(task_of(*sides)) as client:
        (record,) = client.report()["records"]
        got = client.ask("/api/reveal", {"id": record["id"]})
        assert (got.status, got.headers["Cache-Control"]) == (200, "no-store")
        assert got.body["values"] == {"original": "one", "upstream": "two", "local": "three", "result": "two"}
        # Nothing keeps it.
        later = [client.ask(path) for path in ("/api/report", "/api/view", f"/api/context?id={record['id']}")]
        assert not any(value in json.dumps(answer.body) for answer in later for value in ("one", "two", "three"))
        client.choose([record["id"]], "local")
        assert client.ask("/api/reveal", {"id": record["id"]}).body["values"]["result"] == "three"


def test_a_whole_secret_is_shown_as_a_whole() -> None:
    both = [{"s.yaml": SECRET.replace("VALUE", value).encode()} for value in ("one", "two")]
    with serve(task_of(both[0], {}, both[1])) as client:
        (record,) = client.report()["records"]
        values = client.ask("/api/reveal", {"id": record["id"]}).body["values"]
    assert values.keys() == {"original", "local", "result"}
    assert "a: two" in values["local"]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({"id": "RECORD"}, {"Authorization": None}, 401),
        ({"id": "RECORD"}, {"Authorization": "Bearer wrong"}, 401),
        ({"id": "RECORD"}, {"Origin": "http://evil.example"}, 403),
        ({"id": "RECORD"}, {"Sec_Fetch_Site": "cross-site"}, 403),
        ({"id": "RECORD"}, {"Content_Type": "text/plain"}, 415),
        ({"id": "other"}, {}, 422),
        ({"id": ["RECORD"]}, {}, 400),
        ({}, {}, 400),
    ],
)
def test_a_hidden_value_is_shown_to_nobody_else(body: dict[str, Any], headers: dict[str, Any], status: int) -> None:
    sides = [{"s.yaml": SECRET.replace("VALUE", value).encode()} for value in ("hush1", "hush2", "hush3")]
    with serve(task_of(*sides)) as client:
        (record,) = client.report()["records"]
        request = json.loads(json.dumps(body).replace("RECORD", record["id"]))
        refused = client.ask("/api/reveal", request, **headers)
        assert refused.status == status
        assert "hush" not in json.dumps(refused.body)
        assert client.ask(f"/api/reveal?id={record['id']}").status == 405


def test_nothing_else_is_revealed(client: Client) -> None:
    record = client.report()["records"][0]
    assert client.ask("/api/reveal", {"id": record["id"]}).status == 422


def test_a_killed_server_loses_nothing(tmp_path: Path) -> None:
    file = tmp_path / "p"
    task = task_of(*all_natures())
    with serve(task, journal_of(task, file)) as client:
        for _ in range(4):
            record = next(r for r in client.report()["records"] if r["status"] == "open")
            choice = PER_NATURE[record["nature"]]
            client.choose([record["id"]], choice, **({"value": OWN_VALUE} if choice == "value" else {}))
        client.ask("/api/undo", {})
        before = client.report()
    # What a kill leaves half written does not count.
    state_file(file, "choices").append(b'{"resolutions": [{"na')
    with serve(task, journal_of(task, file)) as client:
        after = client.report()
        assert client.view()["canUndo"]
    assert after["records"] == before["records"]
