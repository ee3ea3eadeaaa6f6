"""Opens the examples in yaml-language-server, as editors do, and reports what it finds.

A Kptfile with mistakes is opened, too: where nothing is reported of that one, the server does not check.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = {"validate": True, "schemaStore": {"enable": False}}
MISTAKES = """\
# yaml-language-server: $schema={schema}
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
pipeline:
  mutators:
  - imagee: set-labels
"""
EXPECTED_MISTAKES = 2


class Server:
    """A language server that is spoken to in the Language Server Protocol over its pipes."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["yaml-language-server", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.send(
            "initialize", 1, processId=os.getpid(), rootUri=None, capabilities={"workspace": {"configuration": True}}
        )
        while self.receive().get("id") != 1:
            pass
        self.send("initialized")
        self.send("workspace/didChangeConfiguration", settings={"yaml": SETTINGS})

    def send(self, method: str, number: int | None = None, **parameters: Any) -> None:
        self._write({"method": method, "params": parameters} | ({} if number is None else {"id": number}))

    def answer(self, request: dict[str, Any]) -> None:
        """Answers what the server asks: the settings, or nothing."""
        items = request["params"].get("items", []) if request["method"] == "workspace/configuration" else None
        settings = [SETTINGS if item.get("section") == "yaml" else {} for item in items or []]
        self._write({"id": request["id"], "result": settings if items is not None else None})

    def _write(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while header := self._process.stdout.readline().strip():
            name, _, value = header.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        if not length:
            raise SystemExit("yaml-language-server ended before it answered")
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return message

    def diagnostics(self, files: list[Path]) -> dict[Path, list[str]]:
        """The messages about each file, with the numbers of their lines."""
        waiting = {file.resolve().as_uri(): file for file in files}
        for address, file in waiting.items():
            text = file.read_text(encoding="utf-8")
            document = {"uri": address, "languageId": "yaml", "version": 1, "text": text}
            self.send("textDocument/didOpen", textDocument=document)
        messages: dict[Path, list[str]] = {}
        while len(messages) < len(waiting):
            message = self.receive()
            if "id" in message and "method" in message:
                self.answer(message)
            elif message.get("method") == "textDocument/publishDiagnostics":
                diagnostics = message["params"]["diagnostics"]
                messages[waiting[message["params"]["uri"]]] = [
                    f"{each['range']['start']['line'] + 1}: {each['message']}" for each in diagnostics
                ]
        return messages

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def with_schema_line() -> list[Path]:
    files = (file for file in sorted((ROOT / "examples").rglob("*")) if file.is_file())
    return [file for file in files if file.read_bytes().startswith(b"# yaml-language-server: ")]


def main() -> int:
    server = Server()
    with tempfile.TemporaryDirectory() as directory:
        wrong = Path(directory, "Kptfile")
        schema = ROOT / "docs" / "schemas" / "kptfile.json"
        wrong.write_text(MISTAKES.format(schema=schema), encoding="utf-8")
        files = with_schema_line()
        messages = server.diagnostics([*files, wrong])
    server.close()
    if len(messages[wrong]) != EXPECTED_MISTAKES:
        print(f"of a Kptfile with {EXPECTED_MISTAKES} mistakes the server says: {messages[wrong]}", file=sys.stderr)
        return 1
    problems = [f"{file.relative_to(ROOT)}:{text}" for file in files for text in messages[file]]
    print("\n".join(problems) or f"{len(files)} files are right")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
