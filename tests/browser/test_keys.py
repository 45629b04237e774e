"""S6: keys, search, copies and paper."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Request, expect

from limits import engine, rules
from tests.browser.conftest import Open
from tests.browser.test_operating import fill, states
from tests.scene import ANA

M = rules.MINUTE

type Declare = Callable[..., object]


def test_rows_are_walked_opened_and_edited_by_keys(open_page: Open, declare: Declare) -> None:
    """S6: each key does what a link of the page does; the ends are ends."""
    declare(a=(1, M), b=(1, M), c=(1, M))
    page = open_page("/limits/")
    for key, at in (("j", "a"), ("j", "b"), ("k", "a"), ("k", "a"), ("j", "b"), ("j", "c"), ("j", "c")):
        page.keyboard.press(key)
        expect(page.locator(":focus")).to_have_id(f"open-{at}")
    page.keyboard.press("e")
    expect(page).to_have_url("/limits/c/edit/")
    page.go_back()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url("/limits/a/")
    page.keyboard.press("e")
    expect(page.locator(":focus")).to_have_id("id_capacity")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page).to_have_url("/runs/")
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page).to_have_url("/limits/")


def test_r_asks_about_the_slot_of_the_row_and_never_acts(open_page: Open, declare: Declare) -> None:
    """S3, case 73: pressed twice it asks once."""
    declare(calls=(2, 45 * M))
    ids = fill("calls", 2)
    page = open_page("/limits/calls/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.keyboard.press("r")
    expect(page.get_by_role("alertdialog")).to_contain_text("r1")
    page.keyboard.press("r")
    page.keyboard.press("Escape")
    expect(page.locator("#dialog")).to_be_hidden()
    assert states(ids) == ["busy", "busy"]


def test_keys_are_off_while_one_types_and_can_be_turned_off(open_page: Open, declare: Declare) -> None:
    """S6 (WCAG 2.1.4): the switch stands in the help and is remembered; the help's button stays."""
    declare(a=(1, M), b=(1, M))
    page = open_page("/limits/")
    page.keyboard.press("/")
    expect(page.locator(":focus")).to_have_id("q")
    page.keyboard.type("j?")
    expect(page.locator("#q")).to_have_value("j?")
    page.locator("h1").click()
    page.keyboard.press("?")
    help_ = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(help_).to_be_visible()
    expect(page.locator(":focus")).to_have_text("Close")
    help_.get_by_label("Single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    expect(help_).to_be_hidden()
    for _ in range(2):
        page.keyboard.press("?")
        page.keyboard.press("j")
        expect(help_).to_be_hidden()
        expect(page.locator("tbody :focus")).to_have_count(0)
        page.goto("/limits/")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    help_.get_by_label("Single-key shortcuts").check()
    help_.get_by_role("button", name="Close").click()
    page.locator("h1").click()
    page.keyboard.press("j")
    expect(page.locator(":focus")).to_have_id("open-a")


def test_p_and_dot_are_handed_to_the_live_part(open_page: Open, declare: Declare) -> None:
    """S5: where nothing refreshes by itself, the page loads anew."""
    declare(a=(1, M))
    page = open_page("/limits/")
    page.evaluate("window.heard = []")
    for name in ("toggle-pause", "refresh"):
        page.evaluate(
            "name => document.addEventListener(name, event => { heard.push(name); event.preventDefault() })",
            f"studio:{name}",
        )
    page.keyboard.press("p")
    page.keyboard.press(".")
    assert page.evaluate("heard") == ["studio:toggle-pause", "studio:refresh"]
    page.reload()
    with page.expect_navigation():
        page.keyboard.press(".")


def test_limits_are_found_while_one_types(open_page: Open, declare: Declare) -> None:
    """S1, cases 68 and 69: one address for what is found, few requests, Escape shows all again."""
    declare(**{"voice-calls": (1, M), "voice-mail": (1, M), "sms": (1, M)})
    page = open_page("/limits/?sort=-waiting")
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request) if "q=" in request.url else None)
    page.get_by_label("Find a limit").press_sequentially("voice")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(page.locator(":focus")).to_have_id("q")
    expect(page).to_have_url("/limits/?q=voice&sort=-waiting")
    expect(page.get_by_role("link", name="All 2")).to_be_visible()
    assert len(asked) <= 3
    page.reload()
    expect(rows).to_have_count(2)
    expect(page.locator("header.top")).to_be_visible()
    page.get_by_label("Find a limit").press("End")
    page.keyboard.type("e")
    expect(page.locator("tbody")).to_contain_text("No limit matches “voicee”")
    page.keyboard.press("Escape")
    expect(rows).to_have_count(3)
    expect(page.get_by_label("Find a limit")).to_have_value("")


def test_what_is_copied_is_the_label_as_it_is(open_page: Open, declare: Declare) -> None:
    """S2, case 67: hostile signs are copied, and neither shown nor run."""
    label = "“a” & <b>% ­‮x"
    declare(calls=(1, 45 * M))
    engine.request("calls", key="k", label=label)
    page = open_page("/limits/calls/")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copy = page.locator("tbody .copy")
    copy.focus()
    expect(copy).to_have_css("opacity", "1")
    copy.click()
    expect(copy).to_contain_text("Copied")
    expect(page.locator("#said")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == label
    page.locator("#more summary").click()
    page.get_by_role("button", name="Copy CLI command").click()
    expect(page.get_by_role("button", name="Copied").last).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "stackbone limits slots calls"
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#more button", has_text="Copied")).to_have_count(2)
    assert page.evaluate("navigator.clipboard.readText()") == page.url


@pytest.mark.parametrize("path", ["/limits/", "/limits/calls/"])
def test_paper_says_when_it_was_printed_and_shows_no_controls(open_page: Open, declare: Declare, path: str) -> None:
    """S6: address, day and data's time; heads repeat, rows stay whole."""
    declare(calls=(1, 45 * M))
    fill("calls", 2)
    page = open_page(path)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    printed = page.locator(".printed")
    expect(printed.first).to_contain_text(path)
    expect(printed.first).to_contain_text("Data as of")
    expect(printed.last).to_contain_text("Printed ")
    for away in (".copy", ".menu", "#help-open", "#toasts", "#panel"):
        assert not any(at.is_visible() for at in page.locator(away).all()), away
    assert page.locator("thead").first.evaluate("at => getComputedStyle(at).display") == "table-header-group"
    assert page.locator("tbody tr").first.evaluate("at => getComputedStyle(at).breakInside") == "avoid"


def test_without_scripts_nothing_is_offered_that_needs_them(open_page: Open, declare: Declare) -> None:
    """S6: no dead button."""
    declare(calls=(1, 45 * M))
    fill("calls", 1)
    engine.edit("calls", actor=ANA, capacity=2)
    page = open_page("/limits/calls/", scripts=False)
    dead: Any = [at for at in page.locator(".scripted").all() if at.is_visible()]
    assert not dead
    page.goto("/limits/calls/edit/")
    expect(page.get_by_role("button", name="Preview")).to_be_visible()
