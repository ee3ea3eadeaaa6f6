"""The page about groups of equal conflicts in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from fleet.groups import campaign, conflict, groups, teams
from krm_merge.fleet.conflicts import GroupSession
from krm_merge.resolve.interface import OF_FLEET
from resolve.browsing import card, count, faults, open_page, window
from resolve.serving import Client, served_session

pytestmark = pytest.mark.browser


@pytest.fixture
def client() -> Iterator[Client]:
    records = groups(
        (conflict(), teams(*range(1, 61))),
        (conflict("spec.template.spec.containers[name=web].image", "nginx:1.26"), teams(1, 2, 3)),
        (conflict("spec.port", None, kind="Service"), teams(4, 5)),
    )
    with served_session(GroupSession(campaign(), records), None, OF_FLEET) as client:
        yield client


@pytest.fixture
def page(context: BrowserContext, messages: list[str], client: Client) -> Page:
    return open_page(context, client)


def test_a_group_is_settled_with_one_click_and_saved_with_others_open(page: Page, client: Client) -> None:
    expect(count(page)).to_have_text("3 open · 0 settled")
    expect(card(page, 0).locator("h3")).to_contain_text("Deployment · 60 packages")
    expect(card(page, 0).locator("summary")).to_have_text(
        "teams/team-1/web, teams/team-2/web, teams/team-3/web and 57 more"
    )
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    card(page, 0).get_by_role("button", name="Keep local").click()
    expect(count(page)).to_have_text("2 open · 1 settled")
    expect(card(page, 0).locator(".result")).to_contain_text("5")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("policy.yaml")
    assert b"choice: local" in client.saved[0].changes["policy.yaml"].data  # type: ignore[union-attr]


def test_always_is_a_rule(page: Page) -> None:
    card(page, 1).get_by_role("button", name="Always").click()
    card(page, 1).get_by_role("button", name="Keep local").click()
    expect(card(page, 1).locator(".pill")).to_have_text("settled: local, always")


def test_anybody_can_use_it(browser: Browser, client: Client) -> None:
    # The policy of the page lets nobody add a script, the one that looks for faults neither.
    context = window(browser, width=360, bypass_csp=True)
    page = open_page(context, client)
    page.emulate_media(color_scheme="dark")
    card(page, 0).locator("summary").click()
    faults(page, "groups")
    page.keyboard.press("l")
    expect(card(page, 0).locator(".result")).to_be_visible()
    faults(page, "groups-settled")
    assert page.locator("html").evaluate("html => html.scrollWidth") <= 360
    context.close()
