"""Measures what somebody waits for who settles conflicts: the page, a choice on it, and the HTML report.

python -m benchmarks.page [--runs 7] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measuring import MEGABYTE, PROGRAM, Bar, bar_table, load, machine, median, program, table
from playwright.sync_api import Browser, Page, sync_playwright

from krm_merge import merge_packages
from krm_merge.report.forms import render_document
from krm_merge.report.record import MergeReport

CONFLICTS = 3_000
RECORDS = 10_000
FIELDS = 100
"""Of one resource in the report."""
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


def report_of_many() -> MergeReport:
    """A report of many conflicts."""
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n"
    sides = [
        {
            f"{file}.yaml": (head + "".join(f"  key-{n}: {side} value {n}\n" for n in range(FIELDS))).encode()
            for file in range(RECORDS // FIELDS)
        }
        for side in ("original", "upstream", "local")
    ]
    return MergeReport("many", records=merge_packages(sides[0], sides[1], sides[2]).records)


def measured_report(browser: Browser, place: Path, runs: int) -> tuple[float, float, list[float]]:
    """Bytes of the HTML report, CPU seconds to make it, and milliseconds until a browser shows it."""
    report = report_of_many()
    start = time.process_time()
    text = render_document(report, ".html")
    seconds = time.process_time() - start
    file = place / "report.html"
    file.write_text(text)
    times = []
    for _ in range(runs):
        page = browser.new_page()
        page.goto(file.as_uri())
        times.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))
        page.close()
    return len(text.encode()), seconds, times


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures the page of conflicts and the HTML report.")
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
        size, seconds, times = measured_report(browser, place, arguments.runs)
        browser.close()
    rows = [
        (f"page of {CONFLICTS:,} conflicts ready, ms", ready),
        ("a choice answered and painted, ms", choice),
        (f"HTML report of {RECORDS:,} conflicts shown, ms", times),
    ]
    bars = [
        Bar(f"page of {CONFLICTS:,} conflicts ready (median)", median(ready) / 1000, 0.3, " s"),
        Bar("a choice answered and painted (median)", median(choice) / 1000, 0.1, " s"),
        Bar(f"HTML report of {RECORDS:,} conflicts, size", size / MEGABYTE, 5, " MB"),
        Bar(f"HTML report of {RECORDS:,} conflicts shown (median)", median(times) / 1000, 1, " s"),
    ]
    if arguments.json:
        value = {"load": [before, load()], "ready": ready, "choice": choice, "shown": times, "report": [size, seconds]}
        print(json.dumps({**value, "bars": [asdict(bar) for bar in bars]}, indent=2))
        return 0
    lines = [[name, f"{median(n):.0f}", f"{min(n):.0f}-{max(n):.0f}", str(len(n))] for name, n in rows]
    lines.append([f"HTML report of {RECORDS:,} conflicts made, CPU ms", f"{seconds * 1000:.0f}", "", "1"])
    print(machine(before) + "\n" + table(["case", "median", "min-max", "runs"], lines) + "\n" + bar_table(bars), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
