"""The page in a real browser: by mouse and by keyboard, on every size, and by what it must not do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect
from tools.make_pictures import make_pictures

from checkout import ROOT
from krm_merge.startup import replace
from report.conflicts import SECRETS
from resolve.browsing import card, count, faults, open_page, window
from resolve.packages import OWN_VALUE, PER_NATURE, all_natures, config_maps, fork, task_of
from resolve.serving import Client, journal_of, serve

pytestmark = pytest.mark.browser


@pytest.fixture
def client() -> Iterator[Client]:
    with serve(task_of(*config_maps(3))) as client:
        yield client


@pytest.fixture
def page(context: BrowserContext, messages: list[str], client: Client) -> Page:
    return open_page(context, client)


# ---- by mouse and by keyboard --------------------------------------------------------------------------------------


def test_three_conflicts_are_settled_with_three_clicks_and_saved(page: Page, client: Client) -> None:
    expect(count(page)).to_have_text("3 open · 0 settled")
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    for number, name in enumerate(["Take upstream", "Keep yours", "Take original"]):
        card(page, number).get_by_role("button", name=name).click()
        expect(card(page, number).get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
        # The next open one has the focus; the last one keeps it, though it was drawn anew.
        last = card(page, number).get_by_role("button", name=name)
        expect(card(page, number + 1) if number < 2 else last).to_be_focused()
    expect(count(page)).to_have_text("All 3 settled")
    expect(card(page, 0).locator(".here")).to_have_text("data: {a: u}\n")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Saved")).to_be_visible()
    assert [record.chosen for record in client.host.session.records] == ["upstream", "local", "original"]
    assert client.host.is_saved


def test_lines_around_are_shown_though_another_choice_came_before_them(page: Page, client: Client) -> None:
    waiting: list[Route] = []
    is_chosen = Event()
    page.route("**/api/context?*", lambda route: route.continue_() if is_chosen.is_set() else waiting.append(route))
    for number, name in enumerate(["Take upstream", "Keep yours"]):
        card(page, number).get_by_role("button", name=name).click()
        expect(card(page, number).get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
    is_chosen.set()
    for route in waiting:
        route.continue_()
    expect(card(page, 0).locator(".here")).to_have_text("data: {a: u}\n")


def test_a_server_that_ended_after_saving_leaves_nothing_to_do(page: Page) -> None:
    page.route("**/api/close", lambda route: route.abort("connectionrefused"))
    page.keyboard.press("a")
    page.keyboard.press("l")
    expect(count(page)).to_have_text("All 3 settled")
    with page.expect_event("requestfailed"):
        page.keyboard.press("s")
    expect(page.get_by_role("heading", name="Saved")).to_be_visible()
    expect(page.locator("#notice")).to_be_empty()


def test_the_keyboard_alone_does_it(page: Page, client: Client) -> None:
    # Faster than the answers.
    for key in "ulo":
        page.keyboard.press(key)
    expect(count(page)).to_have_text("All 3 settled")
    expect(card(page, 2)).to_have_attribute("aria-current", "true")
    page.keyboard.press("z")
    expect(count(page)).to_have_text("1 open · 2 settled")
    page.keyboard.press("y")
    expect(count(page)).to_have_text("All 3 settled")
    page.keyboard.press("s")
    expect(page.get_by_role("heading", name="Saved")).to_be_visible()
    assert [record.chosen for record in client.host.session.records] == ["upstream", "local", "original"]


def test_a_choice_leads_to_the_next_open_conflict_and_overwrites_nothing(page: Page, client: Client) -> None:
    for key in "ule":
        page.keyboard.press(key)
    expect(card(page, 2).get_by_role("textbox")).to_be_focused()
    page.keyboard.press("Escape")
    assert [record.chosen for record in client.host.session.records] == ["upstream", "local", None]
    # Undo leads back.
    page.keyboard.press("z")
    expect(card(page, 1)).to_be_focused()


def test_a_choice_leads_nowhere_where_that_is_turned_off(page: Page, client: Client) -> None:
    page.keyboard.press("?")
    page.get_by_role("checkbox", name="After a choice, go to the next open conflict").uncheck()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("u")
    expect(count(page)).to_have_text("2 open · 1 settled")
    expect(card(page, 0)).to_have_attribute("aria-current", "true")
    page.keyboard.press("l")
    expect(card(page, 0).locator(".pill")).to_have_text("settled: yours")


def test_saving_too_early_leads_to_what_is_open(page: Page, client: Client) -> None:
    page.keyboard.press("l")
    expect(count(page)).to_have_text("2 open · 1 settled")
    page.keyboard.press("s")
    expect(page.locator("#notice")).to_have_text("2 conflicts are still open.")
    expect(card(page, 1)).to_be_focused()
    assert not client.host.is_saved


def test_next_and_previous_open_one(page: Page) -> None:
    page.keyboard.press("j")
    page.keyboard.press("l")
    expect(count(page)).to_have_text("2 open · 1 settled")
    expect(card(page, 2)).to_be_focused()
    page.keyboard.press("n")
    expect(card(page, 0)).to_be_focused()
    page.get_by_role("button", name="Previous open conflict").click()
    expect(card(page, 2)).to_be_focused()
    page.keyboard.press("k")
    expect(card(page, 1)).to_be_focused()


def test_one_choice_for_all_alike(page: Page, client: Client) -> None:
    card(page, 1).get_by_role("button", name="All 3 like this").click()
    card(page, 1).get_by_role("button", name="Keep yours").click()
    expect(count(page)).to_have_text("All 3 settled")
    page.get_by_role("button", name="Undo").click()
    expect(count(page)).to_have_text("3 open · 0 settled")
    # What is settled already is chosen for the others, too.
    page.keyboard.press("u")
    expect(count(page)).to_have_text("2 open · 1 settled")
    page.keyboard.press("k")
    page.keyboard.press("a")
    expect(count(page)).to_have_text("All 3 settled")
    assert len(client.host.session.save().choices) == 1


def test_always_is_a_rule(page: Page, client: Client) -> None:
    card(page, 0).get_by_role("button", name="Always here").click()
    card(page, 0).get_by_role("button", name="Keep yours").click()
    expect(card(page, 0).locator(".pill")).to_have_text("settled: yours, always")
    assert client.host.session.records[0].settled_by == "rule merge-policy.yaml"


def test_a_value_of_ones_own_and_the_servers_verdict(page: Page, client: Client) -> None:
    page.keyboard.press("e")
    editor = card(page, 0).get_by_role("textbox", name="A value of your own, as YAML")
    expect(editor).to_be_focused()
    editor.fill("[1, 2")
    editor.press("Control+Enter")
    expect(card(page, 0).get_by_role("alert")).to_contain_text("put it in quotes to make it a string")
    assert len(client.host.session.open) == 3
    editor.fill("mine")
    card(page, 0).get_by_role("button", name="Use this value").click()
    expect(card(page, 0).locator(".here")).to_have_text("data: {a: mine}\n")
    expect(editor).to_have_count(0)
    page.keyboard.press("k")
    page.keyboard.press("e")
    page.keyboard.press("Escape")
    expect(editor).to_have_count(0)
    expect(card(page, 0)).to_be_focused()


def test_the_keys_are_listed(page: Page) -> None:
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("take upstream")
    page.keyboard.press("l")
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    expect(count(page)).to_have_text("3 open · 0 settled")


def test_a_rule_is_explained_on_the_page(page: Page) -> None:
    card(page, 0).get_by_role("button", name="Rule V4").click()
    rule = page.get_by_role("dialog", name="V4. Both changed a value: onConflict decides")
    expect(rule).to_contain_text("conflict")
    page.keyboard.press("Escape")
    expect(rule).to_be_hidden()
    assert page.locator("a[href^=http]").count() == 0


def test_the_tree_leads_to_a_file(page: Page) -> None:
    expect(page.locator("nav a.on")).to_have_count(1)
    page.get_by_role("navigation").get_by_title("2.yaml").click()
    expect(card(page, 2)).to_be_focused()
    expect(page.locator("nav a.on")).to_have_count(1)


COMMENTED = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  a: {0}  # why {0}\n"


def test_cards_are_in_the_order_of_the_list_and_nothing_is_decided_yet(
    context: BrowserContext, messages: list[str]
) -> None:
    """I19."""
    paths = ["z.yaml", "deep/er/x.yaml", "deep/y.yaml", "a.yaml", "values.yaml"]
    sides = [
        {path: (f"a: {side}\n" if path == "values.yaml" else COMMENTED.format(side)).encode() for path in paths}
        for side in "oul"
    ]
    with serve(task_of(*sides)) as client:
        page = open_page(context, client)
        expect(count(page)).to_have_text("5 open · 0 settled")
        listed = page.locator("#tree [role=listitem] > a:not(.folder)").evaluate_all("all => all.map(one => one.title)")
        shown = page.locator("#cards section").evaluate_all("all => all.map(one => one.dataset.file)")
        assert listed == shown
        assert sorted(listed) == sorted(paths)
        # What a conflict would come to is no notice, nor is the comment that would go with it.
        expect(page.locator("#notice")).to_be_hidden()


def test_saving_is_visible_and_its_end_too(page: Page, client: Client) -> None:
    waiting: list[Route] = []
    page.route("**/api/save", lambda route: waiting.append(route))
    # None of them waits for the answer to the one before.
    page.evaluate("document.querySelectorAll('[data-choice=local]').forEach((it) => it.click())")
    expect(count(page)).to_have_text("All 3 settled")
    page.get_by_role("button", name="Save").click()
    expect(count(page)).to_have_text("Saving…")
    expect(page.get_by_role("button", name="Saving…")).to_be_disabled()
    while not waiting:
        # The browser says it before the request is out.
        page.wait_for_timeout(10)
    waiting.pop().continue_()
    expect(page.get_by_role("heading", name="Saved")).to_be_visible()
    expect(count(page)).to_have_text("Saved")


def test_a_short_name_is_whole_beside_long_versions(context: BrowserContext, messages: list[str]) -> None:
    original, upstream, local = config_maps(1)
    task = task_of(original, upstream, local)
    with serve(replace(task, name="core")) as client:
        page = open_page(context, client)
        page.locator("#refs").evaluate("it => { it.textContent = 'a-very-long-name-of-a-version-'.repeat(9) }")
        cut = "it => it.firstChild.firstChild.scrollWidth > it.firstChild.firstChild.clientWidth"
        assert not page.locator("#package").evaluate(cut)


def test_every_nature_has_a_card(context: BrowserContext, messages: list[str]) -> None:
    with serve(task_of(*all_natures())) as client:
        page = open_page(context, client)
        while client.host.session.open:
            record = client.host.session.open[0]
            choice = PER_NATURE[record.nature]
            here = page.locator(f"#c-{record.id}")
            here.scroll_into_view_if_needed()
            here.locator(f"[data-choice={choice}]").click()
            if choice == "value":
                here.get_by_role("textbox").fill(OWN_VALUE)
                here.get_by_role("button", name="Use this value").click()
            expect(page.locator(f"#c-{record.id}.settled, main:not(:has(#c-{record.id}))")).to_have_count(1)
        expect(count(page)).to_contain_text("All ")
        page.locator("#automatic summary").first.click()
        page.locator("#automatic details summary").first.click()
        expect(page.locator("#automatic li").first).to_contain_text("spec.template.spec.containers")
        page.keyboard.press("s")
        expect(page.get_by_role("heading", name="Saved")).to_be_visible()
        assert client.host.is_saved


def test_what_was_merged_without_a_conflict_can_be_overruled(context: BrowserContext, messages: list[str]) -> None:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: %s}\n"
    with serve(task_of(*({"c.yaml": (head % value).encode()} for value in ("x", "y", "x")))) as client:
        page = open_page(context, client)
        expect(count(page)).to_have_text("No conflicts")
        page.locator("#automatic > summary").click()
        page.get_by_role("button", name="Overrule").click()
        page.locator("#automatic article").get_by_role("button", name="Keep yours").click()
        expect(count(page)).to_have_text("Settled")
        expect(card(page, 0).locator(".pill")).to_have_text("settled: yours")
        page.keyboard.press("z")
        expect(count(page)).to_have_text("No conflicts")


# ---- what happens meanwhile ----------------------------------------------------------------------------------------


def test_a_reload_keeps_choices(page: Page) -> None:
    assert "#" not in page.url
    page.keyboard.press("u")
    expect(count(page)).to_have_text("2 open · 1 settled")
    page.reload()
    expect(count(page)).to_have_text("2 open · 1 settled")
    expect(card(page, 0).locator(".pill")).to_have_text("settled: upstream")


def test_a_second_tab_learns_that_something_changed(page: Page, context: BrowserContext, client: Client) -> None:
    other = open_page(context, client)
    other.keyboard.press("u")
    expect(count(other)).to_have_text("2 open · 1 settled")
    page.keyboard.press("l")
    expect(page.locator("#notice")).to_contain_text("perhaps in another tab")
    expect(count(page)).to_have_text("2 open · 1 settled")
    assert client.host.session.records[0].chosen == "upstream"
    page.keyboard.press("l")
    expect(card(page, 0).locator(".pill")).to_have_text("settled: yours")


def test_a_page_without_its_server_says_so_and_the_next_one_goes_on(
    context: BrowserContext, messages: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "p"
    task = task_of(*config_maps(2))
    with serve(task, journal_of(task, file)) as client:
        page = open_page(context, client)
        page.keyboard.press("u")
        expect(count(page)).to_have_text("1 open · 1 settled")
    page.keyboard.press("l")
    expect(card(page, 1).get_by_role("alert")).to_contain_text("run the same command again")
    with serve(task, journal_of(task, file)) as client:
        expect(count(open_page(context, client))).to_have_text("1 open · 1 settled")


def test_closing_without_saving(page: Page, client: Client) -> None:
    page.keyboard.press("u")
    expect(count(page)).to_have_text("2 open · 1 settled")
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("heading", name="Closed without saving")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("Your choices are kept")
    assert not client.host.is_saved


def test_without_the_token_the_page_shows_nothing(context: BrowserContext, client: Client) -> None:
    page = context.new_page()
    page.goto(client.origin)
    expect(page.locator("#notice")).to_contain_text("open the address that the terminal shows")
    expect(page.locator("article")).to_have_count(0)


# ---- what it looks like, and what it must not do -------------------------------------------------------------------


def test_markup_in_values_is_text(context: BrowserContext, messages: list[str]) -> None:
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n"
    sides = [{f"{evil.replace('/', '')}.yaml": f'{head}  a: "{evil}{side}"\n'.encode()} for side in "oul"]
    with serve(task_of(*sides)) as client:
        page = open_page(context, client)
        expect(card(page, 0).locator(".side").first).to_contain_text(evil)
        assert page.locator("main img, main script").count() == 0


def test_hidden_values_are_not_on_the_page(context: BrowserContext, messages: list[str]) -> None:
    values = ("hush-original", "hush-upstream", "hush-local")
    text = SECRETS["a Secret"]
    with serve(task_of(*({"s.yaml": text.replace("VALUE", value).encode()} for value in values))) as client:
        page = open_page(context, client)
        expect(card(page, 0).locator(".side").nth(1)).to_contain_text("hidden value, differs")
        page.keyboard.press("l")
        expect(count(page)).to_have_text("Settled")
        assert "hush" not in page.content()


def test_hidden_values_are_shown_on_request_and_hidden_again(context: BrowserContext, messages: list[str]) -> None:
    text = SECRETS["a Secret"]
    sides = [{"s.yaml": text.replace("VALUE", value).encode()} for value in ("hush-o", "hush-u", "hush-l")]
    with serve(task_of(*sides)) as client:
        page = open_page(context, client)
        expect(card(page, 0)).to_contain_text("hidden value")
        page.get_by_role("button", name="Show values").first.click()
        expect(card(page, 0).locator(".side pre")).to_have_text(["hush-o", "hush-u", "hush-l"])
        page.get_by_role("button", name="Hide values").first.click()
        expect(card(page, 0).locator(".side pre")).to_have_count(0)
        assert "hush" not in page.content()


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_anybody_can_use_it(browser: Browser, width: int, scheme: str) -> None:
    # The policy of the page lets nobody add a script, the one that looks for faults neither.
    context = window(browser, width=width, bypass_csp=True)
    with serve(task_of(*all_natures())) as client:
        page = open_page(context, client)
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        faults(page, f"open-{width}-{scheme}")
        page.keyboard.press("u")
        expect(card(page, 0).locator(".result")).to_be_visible()
        page.keyboard.press("j")
        card(page, 1).get_by_role("button", name="Edit").click()
        page.keyboard.type(" [1")
        page.keyboard.press("Control+Enter")
        expect(card(page, 1).get_by_role("alert")).to_be_visible()
        faults(page, f"editor-{width}-{scheme}")
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        faults(page, f"keys-{width}-{scheme}")
        page.keyboard.press("Escape")
        assert page.locator("html").evaluate("html => html.scrollWidth") <= width
    context.close()


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1024, "dark")])
def test_a_card_says_who_made_its_local_value(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    """D3: from git, as text and nothing else; not what is hidden, and nothing of what nobody committed."""
    context = window(browser, width=width, bypass_csp=True)
    with serve(fork(tmp_path / "fork")) as client:
        page = open_page(context, client)
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        for number in range(8):
            card(page, number).scroll_into_view_if_needed()
            expect(card(page, number).locator(".side")).to_have_count(3)
        changes = page.locator(".change")
        expect(changes).to_have_count(6)
        assert all(text.startswith("Your change: ") for text in changes.all_text_contents())
        expect(card(page, 0).locator(".change")).to_have_text(re.compile(r" ago, Ann, 'scale for the launch'$"))
        expect(card(page, 1).locator(".change")).to_contain_text("<img src=x onerror=alert(1)>")
        expect(page.locator("main img")).to_have_count(0)
        expect(card(page, 2).locator(".change")).to_have_text(re.compile(r"Cleo, '\(redacted\)'$"))
        assert "hunter2" not in page.content()
        # It stays, once, when the card is drawn anew.
        page.keyboard.press("u")
        expect(card(page, 0).locator(".result")).to_be_visible()
        expect(card(page, 0).locator(".change")).to_have_count(1)
        card(page, 0).scroll_into_view_if_needed()
        faults(page, f"change-{width}-{scheme}")
        assert page.locator("html").evaluate("html => html.scrollWidth") <= width
    context.close()


def test_the_pictures_of_the_guide_can_be_made(browser: Browser, tmp_path: Path) -> None:
    make_pictures(browser, tmp_path)
    guide = (ROOT / "docs/guides/conflicts.md").read_text(encoding="utf-8")
    pictures = sorted(file.name for file in tmp_path.iterdir())
    assert pictures == ["resolve-dark.png", "resolve-light.png"]
    assert all(f"../pictures/{name}" in guide for name in pictures)
