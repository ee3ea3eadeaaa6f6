"""Measures what a call of a program costs in each protocol; prints milliseconds as JSON.

The programs are the plugins of examples/transform-plugins.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import yaml
from benchmarks.measuring import median
from benchmarks.packages import deployment

from krm_merge.transform.plugins.process import Executable

PLUGINS = Path(__file__).resolve().parent.parent / "examples" / "transform-plugins" / "image" / "plugins"
FILES = {"crane/v1": "contact.sh", "jsonl/v1": "spread.py"}
OPTIONS = {"contact": "shop@example.com"}
FEW, MANY = {"crane/v1": 10, "jsonl/v1": 50}, {"crane/v1": 200, "jsonl/v1": 2000}
ROUNDS = 5


def call_time(plugin: Executable, few: int, many: int) -> float:
    """What a call costs, in ms: the time of many without that of few, so that no start counts but those of calls."""
    resources = [yaml.safe_load(deployment(number)) for number in range(few + many)]
    times = []
    for part in (resources[:few], resources):
        start = time.perf_counter()
        for resource in part:
            if not plugin.run(resource, OPTIONS).patches:
                raise RuntimeError(f"{plugin.name} wanted nothing")
        plugin.close()
        times.append(time.perf_counter() - start)
    return (times[1] - times[0]) / many * 1000


def install(protocol: str, directory: Path) -> Path:
    """The program, for the Python that runs this."""
    first, rest = (PLUGINS / FILES[protocol]).read_text(encoding="utf-8").split("\n", 1)
    file = directory / FILES[protocol]
    file.write_text((f"#!{sys.executable}" if "python" in first else first) + f"\n{rest}", encoding="utf-8")
    file.chmod(0o555)
    return file


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="krm-merge-bench-") as directory:
        plugins = {protocol: Executable(install(protocol, Path(directory))) for protocol in FILES}
        for protocol, plugin in plugins.items():
            if plugin.protocol != protocol:
                raise RuntimeError(f"{plugin.name} speaks {plugin.protocol}")
        times: dict[str, list[float]] = {protocol: [] for protocol in plugins}
        for _ in range(ROUNDS):
            for protocol, plugin in plugins.items():
                times[protocol].append(call_time(plugin, FEW[protocol], MANY[protocol]))
    print(json.dumps({protocol: median(all_) for protocol, all_ in times.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
