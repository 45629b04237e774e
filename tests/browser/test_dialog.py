"""S3, S6: the questions that Studio asks before it acts, in a dialog over the page they are asked on."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect

from limits import engine, queries, rules
from tests.browser.conftest import Open
from tests.browser.test_operating import fill, states
from tests.scene import ANA

M = rules.MINUTE

type Declare = Callable[..., object]

CHANGED = "document.dispatchEvent(new CustomEvent('studio:limit-changed', {detail: {limit: 'calls'}}))"
"""What the live part says when a limit changed."""

REFRESHED = "document.addEventListener('studio:changed', event => event.preventDefault())"
"""As the live part does, which refreshes its regions itself."""


def asked_to_release(page: Page, label: str) -> Any:
    page.get_by_role("link", name=f"Release… {label}").click()
    dialog = page.get_by_role("alertdialog", name="Release this slot?")
    expect(dialog).to_be_visible()
    return dialog


def releases(limit: str) -> int:
    return sum(change.kind == "release" for change in queries.changes(limit=limit).items)


def test_the_dialog_names_the_slot_and_rests_on_the_safe_button(open_page: Open, declare: Declare) -> None:
    """S3: Esc and Keep change nothing, and the focus goes back to where it came from."""
    declare(calls=(2, 45 * M))
    ids = fill("calls", 2)
    page = open_page("/limits/calls/")
    for leave in ("Escape", "Enter"):
        dialog = asked_to_release(page, "r0")
        expect(dialog).to_contain_text("Release only if the work has ended.")
        expect(page.locator(":focus")).to_have_text("Keep slot")
        page.keyboard.press(leave)
        expect(page.locator("#dialog")).to_be_hidden()
        expect(page.locator(":focus")).to_have_id(f"release-{ids[0]}")
    expect(page).to_have_url("/limits/calls/")
    assert states(ids) == ["busy", "busy"]


def test_a_link_of_a_question_still_opens_its_page_in_a_new_tab(open_page: Open, declare: Declare) -> None:
    """S6: a dialog has a URL of its own."""
    declare(calls=(1, 45 * M))
    fill("calls", 1)
    page = open_page("/limits/calls/")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Release… r0").click(modifiers=["Control"])
    expect(opened.value.get_by_role("heading", level=1)).to_have_text("Release this slot?")
    expect(page.locator("#dialog")).to_be_hidden()


@pytest.mark.parametrize("live", [False, True], ids=["page loads anew", "page refreshes itself"])
def test_a_release_is_told_and_the_next_row_has_the_focus(open_page: Open, declare: Declare, live: bool) -> None:
    """S3: the dialog closes, the message says who has the slot now, the reason is kept."""
    declare(calls=(2, 45 * M))
    ids = fill("calls", 3)
    page = open_page("/limits/calls/")
    if live:
        page.evaluate(REFRESHED)
    dialog = asked_to_release(page, "r0")
    dialog.get_by_label("Reason").fill("the provider lost it")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".toast p")).to_have_text("Released r0. run_2 gets the slot.")
    expect(page.locator("#dialog")).to_be_hidden()
    expect(page.locator("#said")).to_have_text("Released r0. run_2 gets the slot.")
    expect(page.locator(":focus")).to_have_id(f"release-{ids[1]}")
    assert states(ids) == ["released", "busy", "reserved"]
    assert queries.changes(limit="calls").items[0].reason == "the provider lost it"
    page.reload()
    assert page.locator(".toast").count() == 0


def test_after_the_last_row_the_heading_has_the_focus(open_page: Open, declare: Declare) -> None:
    """S6: the focus is never lost."""
    declare(calls=(1, 45 * M))
    fill("calls", 1)
    page = open_page("/limits/calls/")
    asked_to_release(page, "r0").get_by_role("button", name="Release slot").click()
    expect(page.locator(".toast p")).to_have_text("Released r0.")
    expect(page.locator(":focus")).to_have_id("busy-h")


def test_a_double_click_releases_nothing_and_a_double_confirmation_once(open_page: Open, declare: Declare) -> None:
    """Case 73, check 10: the second press of a double click never lands on the question."""
    declare(calls=(2, 45 * M))
    ids = fill("calls", 4)
    page = open_page("/limits/calls/")
    page.get_by_role("link", name="Release… r0").dblclick()
    expect(page.get_by_role("alertdialog")).to_be_visible()
    assert states(ids) == ["busy", "busy", "waiting", "waiting"]
    sent: list[Request] = []
    page.on("request", lambda asked: sent.append(asked) if asked.method == "POST" else None)
    page.get_by_role("button", name="Release slot").dblclick()
    expect(page.locator(".toast p")).to_contain_text("Released r0.")
    assert len(sent) == 1
    assert states(ids) == ["released", "busy", "reserved", "waiting"]
    assert releases("calls") == 1


def test_a_slot_that_frees_while_the_dialog_is_open_says_so_there(open_page: Open, declare: Declare) -> None:
    """S3, check 5: the body changes, focus goes to Close, and the page is usable afterwards."""
    declare(calls=(2, 45 * M))
    ids = fill("calls", 3)
    page = open_page("/limits/calls/")
    asked_to_release(page, "r0")
    engine.release(ids[0], actor=ANA)
    page.evaluate(CHANGED)
    dialog = page.get_by_role("alertdialog", name="This slot is already free")
    expect(dialog).to_contain_text("ana@example.com released it at")
    expect(page.locator(":focus")).to_have_text("Close")
    expect(dialog.get_by_role("status")).to_contain_text("This slot is already free. ana@example.com released it at")
    expect(dialog.get_by_role("button", name="Release slot")).to_have_count(0)
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Release… r1").click()
    expect(page.get_by_role("alertdialog")).to_contain_text("r1")


def test_an_open_dialog_follows_its_limit_and_keeps_what_was_typed(open_page: Open, declare: Declare) -> None:
    """Case 69: caret, text and focus survive; at most two looks a second."""
    declare(calls=(1, 45 * M))
    fill("calls", 1)
    page = open_page("/limits/calls/")
    dialog = asked_to_release(page, "r0")
    expect(dialog).to_contain_text("No run is waiting. The slot becomes free.")
    page.get_by_label("Reason").press_sequentially("lost")
    page.keyboard.press("ArrowLeft")
    engine.request("calls", key="next", label="next", run_id="run_next")
    looks: list[Request] = []
    page.on("request", lambda asked: looks.append(asked) if "/release/" in asked.url else None)
    page.evaluate(f"for (let n = 0; n < 50; n++) {CHANGED}")
    expect(dialog).to_contain_text("run_next, waited")
    page.keyboard.type("s")
    expect(page.get_by_label("Reason")).to_have_value("losst")
    assert len(looks) == 1


def test_a_slot_released_elsewhere_before_the_confirmation_is_told_kindly(open_page: Open, declare: Declare) -> None:
    """Case 73: the server acts on the slot of the dialog, not on a row."""
    declare(calls=(1, 45 * M))
    ids = fill("calls", 2)
    page = open_page("/limits/calls/")
    dialog = asked_to_release(page, "r0")
    engine.release(ids[0], actor=ANA)
    dialog.get_by_role("button", name="Release slot").click()
    expect(page.locator(".toast.notice-info p")).to_contain_text("Nothing changed. That slot was already free")
    assert states(ids) == ["released", "reserved"]


def test_a_box_out_of_reach_leaves_the_dialog_open(open_page: Open, declare: Declare) -> None:
    """S3: what was typed stays, and trying again works."""
    declare(calls=(1, 45 * M))
    ids = fill("calls", 1)
    page = open_page("/limits/calls/")
    dialog = asked_to_release(page, "r0")
    dialog.get_by_label("Reason").fill("lost")
    page.context.set_offline(True)
    dialog.get_by_role("button", name="Release slot").click()
    expect(dialog.get_by_role("alert")).to_have_text("Not released. Studio could not reach the box. Try again.")
    expect(dialog.get_by_label("Reason")).to_have_value("lost")
    page.context.set_offline(False)
    dialog.get_by_role("button", name="Release slot").click()
    expect(page.locator(".toast p")).to_have_text("Released r0.")
    assert states(ids) == ["released"]


def test_a_form_whose_cookie_is_gone_says_what_to_do(open_page: Open, declare: Declare) -> None:
    """Case 87: refused, nothing changes, the reason typed stays."""
    declare(calls=(1, 45 * M))
    ids = fill("calls", 1)
    page = open_page("/limits/calls/")
    dialog = asked_to_release(page, "r0")
    dialog.get_by_label("Reason").fill("lost")
    page.context.clear_cookies()
    dialog.get_by_role("button", name="Release slot").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Your session changed since this page was opened. Nothing was")
    expect(dialog.get_by_label("Reason")).to_have_value("lost")
    assert states(ids) == ["busy"]


def test_a_refused_reason_is_marked_in_the_dialog(open_page: Open, declare: Declare) -> None:
    """S6: 422 shows the error beside what was typed; also for pause and resume, which are no alerts."""
    declare(calls=(1, 45 * M))
    page = open_page("/limits/calls/")
    page.get_by_role("link", name="Pause…").click()
    dialog = page.get_by_role("dialog", name="Pause calls?")
    dialog.get_by_label("Reason").evaluate("at => at.removeAttribute('maxlength')")
    dialog.get_by_label("Reason").fill("x" * 501)
    dialog.get_by_role("button", name="Pause limit").click()
    expect(dialog.get_by_label("Reason")).to_have_attribute("aria-invalid", "true")
    expect(page.locator(":focus")).to_have_id("id_reason")
    dialog.get_by_label("Reason").fill("outage")
    dialog.get_by_role("button", name="Pause limit").click()
    expect(page.locator(".toast p")).to_contain_text("calls is paused.")
    expect(page.locator(":focus")).to_have_text("Resume…")


def test_back_shows_pages_and_never_a_part_of_one(open_page: Open, declare: Declare) -> None:
    """Case 68: a question in a dialog leaves nothing under its address, and Back repeats no release."""
    declare(calls=(1, 45 * M))
    ids = fill("calls", 2)
    page = open_page("/limits/")
    page.get_by_role("link", name="calls").click()
    asked_to_release(page, "r0").get_by_role("button", name="Release slot").click()
    expect(page.locator(".toast p")).to_contain_text("Released r0.")
    page.goto(f"/limits/calls/slots/{ids[0]}/release/")
    expect(page.locator("header.top")).to_be_visible()
    page.go_back()
    expect(page.locator("header.top")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("calls")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Limits")
    assert releases("calls") == 1
