"""Makes the pictures of the README: the page of `krm-merge resolve`, in light and dark.

python tools/make_pictures.py [DIRECTORY]     by default docs/pictures
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, expect, sync_playwright

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: {replicas}
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - name: web
        image: quay.io/acme/web:{image}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  ports:
  - port: {port}
    name: http
"""
SIDES = {
    "v1": (DEPLOYMENT.format(replicas=1, image="v1.2"), SERVICE.format(port=80)),
    "v2": (DEPLOYMENT.format(replicas=2, image="v1.4"), SERVICE.format(port=8080)),
    "web": (DEPLOYMENT.format(replicas="5 # peak load", image="v1.3-hotfix"), SERVICE.format(port=8443)),
}
FILES = ("deployment.yaml", "service.yaml")


def main(directory: Path) -> None:
    """Starts a browser and makes the pictures with it."""
    browser_path = os.environ.get("KRM_MERGE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        make_pictures(browser, directory)
        browser.close()


def make_pictures(browser: Browser, directory: Path) -> None:
    """Writes resolve-light.png and resolve-dark.png."""
    directory.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place:
        for side, texts in SIDES.items():
            (Path(place) / side).mkdir()
            for file, text in zip(FILES, texts, strict=True):
                (Path(place) / side / file).write_text(text)
        with serve(Path(place)) as address:
            for scheme in ("light", "dark"):
                take(browser, address, scheme, directory / f"resolve-{scheme}.png")


@contextmanager
def serve(place: Path) -> Iterator[str]:
    """The address of the page about the package, until the end of the block."""
    command = [sys.executable, "-m", "krm_merge", "resolve", "v1", "v2", "web", "--no-browser"]
    process = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    with process.stdout as out:
        try:
            yield out.readline().strip()
        finally:
            process.terminate()
            process.wait()


def take(browser: Browser, address: str, scheme: str, file: Path) -> None:
    """One picture: the first conflict is settled, two are open."""
    context = browser.new_context(
        viewport={"width": 1180, "height": 740}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = context.new_page()
    page.goto(address)
    first = page.locator("article").first
    if scheme == "light":
        first.get_by_role("button", name="Take upstream").click()
    expect(first.locator(".here")).to_be_visible()
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=file)
    context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
