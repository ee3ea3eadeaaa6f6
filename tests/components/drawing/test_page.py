"""The page of the graph in a real browser: what is searched for is found, and what is chosen is described."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from components.drawing.drawings import drawing_of, five
from krm_merge.components.drawing import page as page_of
from resolve.browsing import window

pytestmark = pytest.mark.browser


@pytest.fixture
def drawing_page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A page of five components. It logs no error, and asks nobody for anything."""
    file = tmp_path / "graph.html"
    file.write_text(page_of(five()), encoding="utf-8")
    context = window(browser)
    messages: list[str] = []
    context.on("console", lambda message: messages.append(message.text) if message.type != "log" else None)
    context.on("weberror", lambda error: messages.append(str(error.error)))
    context.on("request", lambda request: messages.append(request.url) if request.url != file.as_uri() else None)
    page = context.new_page()
    page.goto(file.as_uri())
    expect(page.locator("body")).to_have_attribute("data-ready", "true")
    yield page
    context.close()
    assert messages == []


def test_a_component_is_found_and_described(drawing_page: Page) -> None:
    drawing_page.locator("#search").fill("op1")
    drawing_page.locator("#found").get_by_role("button", name="op1").click()
    details = drawing_page.locator("#details")
    expect(details.get_by_role("heading", name="op1")).to_be_visible()
    expect(details).to_contain_text("#12 feature-1234 (draft, waits for parent#7)")
    expect(details.locator("ul").last).to_have_text("bundle")
    details.get_by_role("button", name="parent").click()
    expect(details.get_by_role("heading", name="parent")).to_be_visible()


def test_pull_requests_are_seen_without_a_click(drawing_page: Page) -> None:
    listed = drawing_page.locator("#planned li")
    expect(listed).to_have_count(3)
    expect(listed.last).to_have_text("op1 #12 feature-1234 (draft, waits for parent#7)")
    listed.last.get_by_role("button", name="op1").click()
    expect(drawing_page.locator("#details").get_by_role("heading", name="op1")).to_be_visible()


def test_texts_are_inside_their_boxes(drawing_page: Page) -> None:
    """The browser draws texts as wide as it measures them."""
    inside = """() => krmMergeGraph.nodes(".component").map((node) => {
      const text = node.boundingBox({ includeLabels: true, includeOverlays: false, includeEdges: false });
      const box = node.boundingBox({ includeLabels: false, includeOverlays: false, includeEdges: false });
      return node.data("label").includes("\\n") && (text.w > box.w || text.h > box.h) ? node.data("label") : "";
    }).filter(Boolean)"""
    assert drawing_page.evaluate(inside) == []
    labels = drawing_page.evaluate('() => krmMergeGraph.nodes(".component").map((node) => node.data("label"))')
    assert "bundle\n#17 feature-1234\nplanned: hotfix" in labels


def test_long_columns_are_folded(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "graph.html"
    file.write_text(page_of(drawing_of({"parent": [], **{f"c{n}": ["parent"] for n in range(300)}})), encoding="utf-8")
    context = window(browser)
    page = context.new_page()
    page.goto(file.as_uri())
    width, height = page.evaluate(
        "() => { const box = krmMergeGraph.elements().boundingBox(); return [box.w, box.h]; }"
    )
    assert 0.5 < width / height < 3
    context.close()


def test_what_a_component_reaches_is_shown_alone(drawing_page: Page) -> None:
    everything = drawing_page.locator("#all")
    expect(everything).to_be_hidden()
    drawing_page.locator("#search").fill("op1")
    drawing_page.locator("#found").get_by_role("button", name="op1").click()
    drawing_page.get_by_role("button", name="Show only what it reaches").click()
    expect(everything).to_be_visible()
    everything.click()
    expect(everything).to_be_hidden()


def test_a_thousand_components_are_shown(browser: Browser, tmp_path: Path) -> None:
    names = {f"c{number}": [f"c{(number - 1) // 3}"] if number else [] for number in range(1000)}
    file = tmp_path / "graph.html"
    file.write_text(page_of(drawing_of(names)), encoding="utf-8")
    context = window(browser)
    page = context.new_page()
    page.goto(file.as_uri())
    expect(page.locator("body")).to_have_attribute("data-ready", "true")
    page.locator("#search").fill("c999")
    expect(page.locator("#found").get_by_role("button", name="c999")).to_be_visible()
    context.close()
