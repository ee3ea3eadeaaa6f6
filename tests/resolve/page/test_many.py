"""Hundreds of conflicts on the page: found, and settled together."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from resolve.browsing import card, count, faults, open_page, window
from resolve.packages import CHOSEN_OF_FIVE, five_kinds, task_of
from resolve.serving import Client, serve

pytestmark = pytest.mark.browser

KEYS = {"upstream": "u", "local": "l", "original": "o"}
NAMES = {"upstream": "Take upstream", "local": "Keep yours", "original": "Take original"}


@pytest.fixture
def client() -> Iterator[Client]:
    with serve(task_of(*five_kinds(300))) as client:
        yield client


@pytest.fixture
def page(context: BrowserContext, messages: list[str], client: Client) -> Page:
    return open_page(context, client)


def batch(page: Page) -> Locator:
    """What was found or grouped, as a card."""
    return page.locator("main > article")


def current(page: Page) -> Locator:
    return page.locator("article[aria-current]")


def path_of(page: Page, client: Client) -> str:
    """The field that the current card is about; '' for the deletions."""
    name = str(current(page).get_attribute("id")).removeprefix("c-").removeprefix("b-")
    return client.host.session.record(name).path


def is_settled(client: Client) -> bool:
    chosen = {(record.path, record.chosen) for record in client.host.session.records if record.status != "automatic"}
    return chosen == set(CHOSEN_OF_FIVE.items())


def test_three_hundred_conflicts_of_five_kinds_by_keys(page: Page, client: Client) -> None:
    pressed: list[str] = []

    def press(key: str) -> None:
        pressed.append(key)
        page.keyboard.press(key)

    for left in (300, 240, 180, 120, 60):
        expect(count(page)).to_contain_text(f"{left} open")
        expect(page.locator("#cards")).to_contain_text("open")
        expect(batch(page)).to_have_count(0)
        path = path_of(page, client)
        if path:
            press("g")
            expect(batch(page)).to_be_focused()
        if path == "spec.replicas":
            # Nearest are those with the same values: a third.
            expect(batch(page)).to_contain_text("20 conflicts with the same values")
            press("g")
            expect(batch(page)).to_contain_text("60 conflicts of spec.replicas")
        expect(current(page)).to_contain_text("all 60")
        press(KEYS[CHOSEN_OF_FIVE[path]])
    expect(count(page)).to_have_text("All 300 settled")
    press("s")
    expect(page.get_by_role("heading", name="Saved")).to_be_visible()
    assert len(pressed) < 40
    assert is_settled(client)


def test_what_is_found_is_shown_alone_and_settled_at_once(page: Page, client: Client) -> None:
    page.keyboard.press("/")
    page.keyboard.type("kind:ConfigMap folder:settings web1")
    expect(page.locator("#found")).to_have_text("11 of 300")
    expect(batch(page)).to_contain_text("11 conflicts found")
    expect(batch(page).get_by_role("listitem").first).to_contain_text("yours: debug | upstream: warn")
    expect(page.locator("section article")).to_have_count(11)
    page.keyboard.press("Enter")
    expect(batch(page)).to_be_focused()
    page.keyboard.press("l")
    expect(count(page)).to_have_text("289 open · 11 settled")
    # Nothing is left of the search.
    expect(batch(page)).to_have_count(0)
    expect(page.get_by_role("searchbox", name="Find")).to_have_value("")
    page.keyboard.press("z")
    expect(count(page)).to_have_text("300 open · 0 settled")


def test_a_search_without_result_says_where_it_looked_and_escape_ends_it(page: Page) -> None:
    page.keyboard.press("n")
    expect(card(page, 1)).to_be_focused()
    page.get_by_role("searchbox", name="Find").fill("nowhere")
    expect(page.locator("main")).to_contain_text("Nothing found. Each word is searched in")
    page.keyboard.press("Escape")
    expect(card(page, 1)).to_be_focused()
    expect(page.get_by_role("searchbox", name="Find")).to_have_value("")


def test_a_folder_of_the_tree_shows_what_is_in_it_and_how_much_is_open(page: Page) -> None:
    folder = page.get_by_role("navigation").get_by_role("link", name="settings/")
    expect(folder).to_contain_text("60")
    folder.click()
    expect(batch(page)).to_contain_text("60 conflicts found")
    batch(page).get_by_role("button", name="settings/web-0.yaml").click()
    page.keyboard.press("u")
    expect(count(page)).to_have_text("299 open · 1 settled")
    expect(folder).to_contain_text("59/60")
    expect(batch(page)).to_contain_text("Keep yours for all 59")


def test_deletions_that_are_alike_are_one_card_and_each_can_be_settled_alone(page: Page, client: Client) -> None:
    deletions = page.locator("section article.batch")
    expect(deletions).to_have_count(1)
    expect(deletions).to_contain_text("60 resources that upstream deleted and you changed")
    deletions.get_by_role("button", name="network/web-7.yaml").click()
    expect(current(page)).to_contain_text("Service web7")
    page.keyboard.press("l")
    expect(count(page)).to_have_text("299 open · 1 settled")
    deletions.get_by_role("button", name="Delete all 59").click()
    expect(count(page)).to_have_text("240 open · 60 settled")
    (local,) = [record for record in client.host.session.records if not record.path and record.chosen == "local"]
    assert local.file == "network/web-7.yaml"


def test_a_deletion_shows_what_changed_and_all_of_it_on_demand(page: Page) -> None:
    page.get_by_role("searchbox", name="Find").fill("network/web-7.yaml")
    alone = page.locator("section article")
    expect(alone.locator(".side")).to_have_count(2)
    expect(alone.locator(".changes .del")).to_have_text("-   type: ClusterIP")
    expect(alone.locator(".changes .ins mark")).to_have_text("LoadBalancer")
    expect(alone.locator(".changes")).not_to_contain_text("apiVersion")
    alone.get_by_role("button", name="Show all of it").click()
    expect(alone.locator(".changes")).to_contain_text("apiVersion: v1")


def test_long_paths_are_cut_in_the_middle_and_whole_on_focus(context: BrowserContext, messages: list[str]) -> None:
    name = f"client-folder/standard/{'applications-' * 9}last.yaml"
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: %s}\n"
    with serve(
        task_of(*({name: (text % side).encode(), "b.yaml": (text % side).encode()} for side in "oul"))
    ) as client:
        page = open_page(context, client)
        link = page.get_by_role("navigation").get_by_role("link", name="last.yaml")
        end = link.locator(".middle span").last
        width = page.locator("nav").evaluate("nav => nav.clientWidth")
        assert end.evaluate("end => end.offsetLeft + end.offsetWidth") <= width
        assert link.evaluate("link => link.clientHeight") < 40
        page.keyboard.press("Tab")
        link.focus()
        assert link.evaluate("link => link.clientHeight") > 40


def test_anybody_can_settle_many(browser: Browser) -> None:
    context = window(browser, width=360, bypass_csp=True)
    # So many that a file goes on in another part of the page.
    with serve(task_of(*five_kinds(100))) as client:
        page = open_page(context, client)
        faults(page, "many")
        page.keyboard.press("g")
        expect(batch(page)).to_be_focused()
        faults(page, "group")
        assert page.locator("html").evaluate("html => html.scrollWidth") <= 360
    context.close()
