"""A ResourceList through the function, from bytes to bytes, and the resources that its kinds are tested on."""

from __future__ import annotations

import json
from textwrap import indent
from typing import Any

import yaml

from krm_merge.functions import process

PATH = "internal.config.kubernetes.io/path"
INDEX = "internal.config.kubernetes.io/index"
ID = "internal.config.kubernetes.io/id"
LEGACY_ID = "config.k8s.io/id"
Value = dict[str, Any]

DEPLOYMENT = f"""\
# of the shop
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {{app: web, tier: front}}
  annotations:
    team: "red"
    {PATH}: apps/web.yaml
    {ID}: '1'
    {LEGACY_ID}: '1'
spec:
  replicas: 1 # few
  template:
    spec:
      containers:
      - name: log # reads it
        image: fluent:1.0
      # the server
      - name: web
        image: 'nginx:1.25'
        args: [-a,   "-b"]
"""
SERVICE = f"""\
apiVersion: v1
kind: Service
metadata:
  name: dns
  annotations:
    {PATH}: dns.yaml
    {INDEX}: '2'
    {ID}: '2'
spec:
  ports:
  - port: 53 # for zones
    name: tcp
  - name: udp # for names
    port: 53
    protocol: UDP
"""
OTHER = f"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: other
  annotations:
    {PATH}: other.yaml
    {ID}: '3'
data:   {{a:   'b'}}
"""
HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"


def as_item(text: str) -> str:
    """A document as an element of `items`."""
    return "-" + indent(text, "  ", lambda line: bool(line.strip()))[1:]


def many(count: int, *documents: str) -> list[str]:
    """So many items, of these documents in turn, each with a name of its own: the second Service is `n6-dns`."""
    kinds = len(documents)
    return [documents[n % kinds].replace("  name: ", f"  name: n{n}-", 1) for n in range(count)]


def config_map(function: str, **data: Any) -> Value:
    """The functionConfig that `kpt fn eval -- name=text` makes."""
    metadata = {"name": "function-input"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"function": function, **data}}


class Done:
    """The output for items and a functionConfig."""

    def __init__(self, items: list[str], config: Value, *, crlf: bool = False) -> None:
        self.before = HEAD + "".join(map(as_item, items))
        self.tail = f"functionConfig: {json.dumps(config)}\n"
        source = self.before + self.tail
        outcome = process((source.replace("\n", "\r\n") if crlf else source).encode())
        self.exit_code, self.message = outcome.exit_code, outcome.message
        self.output = outcome.output.decode()
        if crlf:
            assert self.output.count("\n") == self.output.count("\r\n")
            self.output = self.output.replace("\r\n", "\n")
        self.text, tail, self.told = self.output.partition(self.tail)
        assert tail
        values = yaml.load(self.output, Loader=yaml.CSafeLoader)
        self.items: list[Value] = values["items"]
        self.results: list[Value] = values.get("results", [])
        assert bool(self.messages("error")) == bool(self.exit_code), self.told
        if self.exit_code:
            # W4
            assert self.text == self.before

    def messages(self, severity: str) -> list[str]:
        return [result["message"] for result in self.results if result["severity"] == severity]

    def events(self, event: str) -> list[Value]:
        """The results that tell of this."""
        return [result for result in self.results if result.get("tags", {}).get("event") == event]
