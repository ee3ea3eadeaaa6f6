"""Measures what somebody waits for who settles conflicts: the page, and a choice on it.

python -m benchmarks.page [--runs 7] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measuring import PROGRAM, Bar, bar_table, load, machine, median, program, table
from playwright.sync_api import Browser, Page, sync_playwright

CONFLICTS = 3_000
CHOICES = 10

FILE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{number}\ndata:\n  a: {value}\n"


def package(place: Path, count: int) -> None:
    """Three versions of a package with one conflict in each of its files."""
    for side in ("original", "upstream", "local"):
        (place / side).mkdir()
        for number in range(count):
            (place / side / f"{number}.yaml").write_text(FILE.format(number=number, value=side))


@contextmanager
def serve(path: str, place: Path) -> Iterator[str]:
    """The address of the page about the package."""
    command = [path, "resolve", "original", "upstream", "local", "--no-browser"]
    process = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    with process.stdout as out:
        try:
            yield out.readline().strip()
        finally:
            process.terminate()
            process.wait()


def open_page(browser: Browser, address: str) -> Page:
    """A page of a browser that knows nothing of an earlier one."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(address)
    page.locator("main[aria-busy=false]").wait_for()
    return page


def measured_page(browser: Browser, address: str, runs: int) -> tuple[list[float], list[float]]:
    """Milliseconds until the page is ready, and from a key to what it changed on the screen."""
    ready, choice = [], []
    for _ in range(runs):
        page = open_page(browser, address)
        ready.append(page.evaluate("performance.getEntriesByName('ready')[0].startTime"))
        for number in range(CHOICES):
            page.keyboard.press("u" if number % 2 else "l")
            while page.evaluate("performance.getEntriesByName('choice').length") <= number:
                page.wait_for_timeout(20)
            page.keyboard.press("j")
        choice += page.evaluate("performance.getEntriesByName('choice').map(one => one.duration)")
        page.context.close()
    return ready, choice


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures the page of conflicts.")
    parser.add_argument("--runs", type=int, default=7, help="pages that are opened")
    parser.add_argument("--json", action="store_true", help="print JSON instead of markdown")
    arguments = parser.parse_args()
    chromium = os.environ.get("KRM_MERGE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if (path := program()) is None or chromium is None:
        print(f"{PROGRAM} and Chromium are needed", file=sys.stderr)
        return 2
    before = load()
    with TemporaryDirectory(prefix="krm-merge-bench-") as directory, sync_playwright() as playwright:
        place = Path(directory)
        package(place, CONFLICTS)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with serve(path, place) as address:
            ready, choice = measured_page(browser, address, arguments.runs)
        browser.close()
    rows = [
        (f"page of {CONFLICTS:,} conflicts ready, ms", ready),
        ("a choice answered and painted, ms", choice),
    ]
    bars = [
        Bar(f"page of {CONFLICTS:,} conflicts ready (median)", median(ready) / 1000, 0.3, " s"),
        Bar("a choice answered and painted (median)", median(choice) / 1000, 0.1, " s"),
    ]
    if arguments.json:
        value = {"load": [before, load()], "ready": ready, "choice": choice}
        print(json.dumps({**value, "bars": [asdict(bar) for bar in bars]}, indent=2))
        return 0
    lines = [[name, f"{median(n):.0f}", f"{min(n):.0f}-{max(n):.0f}", str(len(n))] for name, n in rows]
    print(machine(before) + "\n" + table(["case", "median", "min-max", "runs"], lines) + "\n" + bar_table(bars), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
