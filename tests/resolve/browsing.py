"""Pages in a real browser: how tests open them, and find what somebody cannot see or reach."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from resolve.serving import Client

MILLISECONDS = 120_000
"""For one answer of a page. Never a verdict on how fast the machine is."""
expect.set_options(timeout=MILLISECONDS)


def window(browser: Browser, *, width: int = 1280, **settings: Any) -> BrowserContext:
    """A window of the browser, by default as wide as a laptop's."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **settings)
    context.set_default_timeout(MILLISECONDS)
    return context


def open_page(context: BrowserContext, client: Client) -> Page:
    page = context.new_page()
    page.goto(client.address)
    expect(page.locator("main")).to_have_attribute("aria-busy", "false")
    return page


def count(page: Page) -> Locator:
    return page.locator("#count")


def card(page: Page, number: int) -> Locator:
    return page.locator("article").nth(number)


def faults(page: Page, name: str) -> None:
    """Fails where somebody cannot see or reach something; a picture stays where KRM_MERGE_PICTURES asks for it."""
    if folder := os.environ.get("KRM_MERGE_PICTURES"):
        page.screenshot(path=Path(folder, f"{name}.png"))
    violations = Axe().run(page)
    assert violations.violations_count == 0, violations.generate_report()
