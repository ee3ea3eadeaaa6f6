"""GitHub: what it refuses, and where the token goes."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from forges.connected import LIMITED, REFUSED, URL, Time, connect, open_pull
from forges.fake_forge import TOKEN, FakeForge, FakeRepository, Fault
from forges.fake_github import FakeGitHub
from krm_merge.forges.hosted.github import GitHub
from krm_merge.forges.hosted.transport import Connection
from krm_merge.forges.interface import Forge, ForgeError
from krm_merge.git.program import Token


class Greeter:
    """A server with TLS that answers everything with an empty list."""

    def __init__(self, context: ssl.SSLContext) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"[]")

            def log_message(self, format: str, *arguments: Any) -> None:
                """Says nothing."""

        class Server(HTTPServer):
            def get_request(self) -> tuple[socket.socket, Any]:
                plain, address = super().get_request()
                try:
                    return context.wrap_socket(plain, server_side=True), address
                except OSError:
                    plain.close()
                    raise

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> int:
        self._thread.start()
        return self._server.server_port

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class TestRefusals:
    @pytest.mark.parametrize(
        ("fault", "message"),
        [
            (Fault(401, body={"message": "Bad credentials"}), r"Bad credentials \(401\); GITHUB_TOKEN has expired"),
            (REFUSED, r"by personal access token \(403\); give the token the right to read and write"),
            (
                Fault(403, {"X-Accepted-GitHub-Permissions": "pull_requests=read"}, {"message": "No"}),
                r"No \(403\); give the token the right pull_requests=read",
            ),
            (
                Fault(403, {"X-GitHub-SSO": "required; url=https://github.com/orgs/acme/sso?x=1"}, {"message": "No"}),
                r"authorize the token for the organization: https://github\.com/orgs/acme/sso\?x=1",
            ),
            (Fault(404, body={"message": "Not Found"}), r"\(404\); correct the address, or give the token access"),
            (Fault(410, body={"message": "Gone for good"}), r"Gone for good \(410\); correct what"),
            (Fault(404, body=["x"]), r"x \(404\)"),
            (Fault(451), r"Unavailable For Legal Reasons \(451\)"),
            (Fault(499), r"nothing \(499\)"),
            (Fault(422, body={"message": "A\n\x1b[31mB", "errors": "C"}), r"A \[31mB; C \(422\)"),
            (
                Fault(422, body={"message": "Bad", "errors": [{"field": "head", "code": "invalid"}]}),
                "Bad; head: invalid",
            ),
            (Fault(400, body={"message": "long " * 1000}), r"long \(400\); correct"),
        ],
    )
    def test_say_what_was_asked_and_what_to_do(
        self, forge: Forge, server: FakeForge, fault: Fault, message: str
    ) -> None:
        server.faults.append(fault)
        with pytest.raises(
            ForgeError, match=f"^acme/app: listing the pull requests: GitHub says: .*{message}"
        ) as raised:
            forge.pull_requests(URL)
        assert len(str(raised.value)) < 600
        assert len(server.seen) == 1

    @pytest.mark.parametrize("fault", [REFUSED, Fault(404, body={"message": "Not Found"}), None])
    def test_without_a_token_ask_for_one(self, server: FakeForge, time: Time, fault: Fault | None) -> None:
        server.faults += [fault] if fault else []
        with pytest.raises(ForgeError, match="set GITHUB_TOKEN"):
            connect(server, time, token="").pull_requests(URL)
        assert "Authorization" not in server.seen[0].headers

    @pytest.mark.parametrize(
        ("branch", "message"),
        [
            ("y", "Validation Failed; head: invalid"),
            ("main", "No commits between main and main"),
        ],
    )
    def test_of_opening(self, forge: Forge, branch: str, message: str) -> None:
        about = f"acme/app: opening a pull request of {branch} into main"
        with pytest.raises(ForgeError, match=rf"^{about}: .*{message} \(422\); check that both branches exist"):
            open_pull(forge, branch)

    @pytest.mark.parametrize(
        ("error", "message"),
        [
            ({"type": "FORBIDDEN", "message": "No rights"}, r"No rights \(200\); give the token the right"),
            ({"type": "NOT_FOUND", "message": "No node"}, r"No node \(200\); correct the address, or give"),
            ({"type": {}, "message": "Odd"}, r"Odd \(200\); correct what"),
            ("odd", r"odd \(200\); correct what"),
        ],
    )
    def test_of_graphql(
        self, forge: Forge, server: FakeForge, app: FakeRepository, error: object, message: str
    ) -> None:
        app.open_pull("x", "main", "", None, draft=True)
        server.faults.append(Fault(200, body={"data": None, "errors": [error]}, path="/graphql"))
        with pytest.raises(ForgeError, match=f"^acme/app: taking pull request #1 out of draft: .*{message}"):
            forge.set_draft(URL, 1, draft=False)

    def test_of_graphql_that_end(self, forge: Forge, server: FakeForge, app: FakeRepository, time: Time) -> None:
        app.open_pull("x", "main", "", None, draft=True)
        limit = {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}
        server.faults.append(Fault(200, LIMITED, limit, path="/graphql"))
        forge.set_draft(URL, 1, draft=False)
        assert (app.pulls[0].draft, time.slept) == (False, [121])


class TestToken:
    def test_is_in_no_message(self, server: FakeForge, time: Time) -> None:
        forge = connect(server, time)
        server.faults.append(Fault(400, body={"message": f"what is {TOKEN}?"}))
        with pytest.raises(ForgeError, match=r"what is \*\*\*\?") as raised:
            forge.pull_requests(URL)
        assert TOKEN not in f"{raised.value!r} {raised.value.__cause__!r} {forge!r}"

    @pytest.mark.parametrize("token", ["hidden\nX-Other: 1", "hid den", "hidden\x00", "hiddén"])
    def test_that_cannot_be_one(self, token: str) -> None:
        with pytest.raises(ForgeError, match="the token has invalid characters") as raised:
            GitHub(Connection("github.com", Token(token, "GITHUB_TOKEN")))
        assert "hid" not in str(raised.value)

    def test_may_end_with_a_line(self, server: FakeForge, time: Time) -> None:
        assert connect(server, time, token=f"{TOKEN}\n").pull_requests(URL) == []

    @pytest.mark.parametrize(
        "where", ["http://{}/next", "//{}/next", "https://127.0.0.1/next", "http://[", "file:///x"]
    )
    def test_goes_to_no_other_server_with_the_next_page(self, forge: Forge, server: FakeForge, where: str) -> None:
        with FakeGitHub(TOKEN) as other:
            address = where.format(other.origin.partition("://")[2])
            server.repositories["acme/app"].open_pull("x", "main", "", None, draft=False)
            forge.pull_requests(URL)
            page = server.answer(server.seen[-1])[2]
            server.faults.append(Fault(200, {"Link": f'<{address}>; rel="next"'}, page))
            with pytest.raises(ForgeError):
                forge.pull_requests(URL)
            assert not other.seen

    @pytest.mark.skipif(not shutil.which("openssl"), reason="openssl, which makes a certificate, is not on PATH")
    def test_goes_to_nobody_without_a_certificate(self, tmp_path: Path, time: Time) -> None:
        key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
        make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"]
        subprocess.run([*make, *names, "-keyout", key, "-out", certificate], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        with Greeter(context) as port:
            api, url = f"https://localhost:{port}", "https://localhost/acme/app"
            connection = Connection("localhost", Token(TOKEN), api, sleep=time.sleep, clock=time.clock)
            forge = GitHub(connection)
            with pytest.raises(
                ForgeError, match=r"certificate of localhost is not trusted \(self.signed certificate\)"
            ):
                forge.pull_requests(url)
            assert time.slept == []
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("SSL_CERT_FILE", str(certificate))
                assert GitHub(connection).pull_requests(url) == []
