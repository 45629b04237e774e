"""S4: the edit form beside the page, its live preview, and the way back from a change."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Request, expect

from limits import engine, queries, rules
from limits.queries import LimitState
from tests.browser.conftest import Open
from tests.browser.test_operating import fill
from tests.scene import ANA

M = rules.MINUTE

type Declare = Callable[..., object]


def calls() -> LimitState:
    limit = queries.limit("calls")
    assert limit is not None
    return limit


def edited(open_page: Open, *, width: int = 1280) -> Page:
    page = open_page("/limits/calls/", width=width)
    page.get_by_role("link", name="Edit limit").click()
    expect(page.get_by_role("heading", name="Edit calls")).to_be_visible()
    return page


def test_the_numbers_stay_in_sight_beside_the_form(open_page: Open, declare: Declare) -> None:
    """S4: no modal; nothing of the page lies under the panel; Esc and Cancel give the focus back."""
    declare(calls=(2, 45 * M))
    fill("calls", 3)
    page = edited(open_page)
    expect(page).to_have_url("/limits/calls/")
    expect(page.locator(":focus")).to_have_id("id_capacity")
    expect(page.locator("#panel")).to_have_attribute("data-open", "")
    panel, figures = page.locator("#panel").bounding_box(), page.locator("main").bounding_box()
    assert panel
    assert figures
    assert figures["x"] + figures["width"] <= panel["x"]
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    expect(page.locator(":focus")).to_have_id("edit")
    page.keyboard.press("Enter")
    page.locator("#panel").get_by_role("link", name="Cancel").click()
    expect(page.locator(":focus")).to_have_id("edit")


def test_a_narrow_screen_has_the_page(open_page: Open, declare: Declare) -> None:
    """S4: the same form under its own address."""
    declare(calls=(2, 45 * M))
    page = edited(open_page, width=768)
    expect(page).to_have_url("/limits/calls/edit/")


@pytest.mark.parametrize("width", [1280, 768], ids=["panel", "page"])
def test_what_will_happen_is_said_while_one_types(open_page: Open, declare: Declare, width: int) -> None:
    """S4, case 69: nothing is stored, focus and caret stay, the echo follows, a mistake is told kindly."""
    declare(calls=(2, 45 * M))
    fill("calls", 5)
    page = edited(open_page, width=width)
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request) if request.method == "POST" else None)
    page.get_by_label("Capacity").fill("")
    page.get_by_label("Capacity").press_sequentially("14")
    page.keyboard.press("ArrowLeft")
    preview = page.locator("#preview")
    expect(preview).to_contain_text("3 waiting runs start at once. 9 slots stay free.")
    expect(page.locator(":focus")).to_have_id("id_capacity")
    page.keyboard.press("Backspace")
    expect(preview).to_contain_text("Starts 2 of 3 waiting runs at once.")
    expect(page.get_by_label("Capacity")).to_have_value("4")
    page.get_by_label("Max hold").fill("1h30m")
    expect(page.locator("#max-hold-echo")).to_have_text("= 1 hour 30 minutes")
    page.get_by_label("Max hold").fill("45 min")
    expect(preview).to_contain_text("Max hold must be a duration, like 45m, 2h or 1h30m")
    assert len(asked) <= 6
    assert not calls().overridden
    assert "Error" not in page.title()


def test_a_preview_follows_what_happens_meanwhile(open_page: Open, declare: Declare) -> None:
    """S4: the sentence is about now, also when somebody else was faster."""
    declare(calls=(2, 45 * M))
    fill("calls", 3)
    page = edited(open_page)
    page.get_by_label("Capacity").fill("5")
    expect(page.locator("#preview")).to_contain_text("1 waiting run starts at once. 2 slots stay free.")
    fill_more = engine.request("calls", key="more", label="more", run_id="run_more")
    assert fill_more.slot_id
    changed = "document.dispatchEvent(new CustomEvent('studio:limit-changed', {detail: {limit: 'calls'}}))"
    page.evaluate(changed)
    expect(page.locator("#preview")).to_contain_text("2 waiting runs start at once. 1 slot stays free.")
    expect(page.locator("#edit-standing")).to_have_text("2 busy of 2, 2 runs waiting.")
    engine.edit("calls", actor=ANA, capacity=3)
    page.evaluate(changed)
    expect(page.locator("#preview")).to_contain_text("ana@example.com set capacity to 3")


def test_a_warned_save_a_mistake_and_a_conflict_are_settled_in_the_panel(open_page: Open, declare: Declare) -> None:
    """S4, O7, check 10: 422 and 409 answer in place, with the focus on what is wrong."""
    declare(calls=(3, 45 * M))
    fill("calls", 3)
    page = edited(open_page)
    page.get_by_label("Capacity").fill("2.5")
    page.keyboard.press("Control+Enter")
    expect(page.locator(":focus")).to_have_id("errors")
    expect(page.locator("#errors")).to_contain_text("Capacity must be a whole number")
    page.get_by_label("Capacity").fill("1")
    page.get_by_role("button", name="Save changes").click()
    expect(page.locator(":focus")).to_have_id("preview")
    expect(page.locator("#preview")).to_contain_text("3 busy slots must finish before the next run starts")
    engine.edit("calls", actor=ANA, capacity=20)
    page.get_by_role("button", name="Save anyway: capacity 1").click()
    expect(page.locator("#errors")).to_contain_text("ana@example.com set capacity to 20")
    expect(page.locator("#errors")).to_contain_text("Your 1 is still in the form")
    page.get_by_label("Capacity").fill("25")
    page.get_by_role("button", name="Save changes").click()
    expect(page.locator(".toast p")).to_have_text("Capacity is now 25.")
    expect(page.locator("#panel")).to_be_hidden()
    expect(page.locator(":focus")).to_have_id("edit")


def test_a_box_out_of_reach_keeps_what_was_typed(open_page: Open, declare: Declare) -> None:
    """S4: not saved, said so, tried again."""
    declare(calls=(3, 45 * M))
    page = edited(open_page)
    page.get_by_label("Capacity").fill("30")
    page.context.set_offline(True)
    page.get_by_role("button", name="Save changes").click()
    alert = page.locator("#panel [data-failed][role=alert]")
    expect(alert).to_have_text("Not saved. Studio could not reach the box. Try again.")
    page.context.set_offline(False)
    expect(page.get_by_label("Capacity")).to_have_value("30")


@pytest.mark.parametrize("scripts", [False, True], ids=["without scripts", "with scripts"])
def test_a_change_is_taken_back_by_its_undo(open_page: Open, declare: Declare, scripts: bool) -> None:
    """S4, O7: the previous override state is back, and both are on record."""
    declare(calls=(3, 45 * M))
    page = open_page("/limits/calls/", scripts=scripts)
    page.get_by_role("link", name="Edit limit").click()
    page.get_by_label("Capacity").fill("9")
    page.get_by_role("button", name="Save changes").click()
    said = page.locator(".toast p, .messages p").last
    expect(said).to_have_text("Capacity is now 9.")
    assert calls().capacity.override == 9
    page.get_by_role("button", name="Undo").click()
    expect(said).to_have_text("Capacity is 3 again, as declared.")
    assert calls().capacity.override is None
    assert [change.kind for change in queries.changes(limit="calls").items[:2]] == ["reset_capacity", "capacity"]


def test_an_undo_after_somebody_elses_change_says_so_and_stays(open_page: Open, declare: Declare) -> None:
    """O7: an error is spoken at once, and goes when it is dismissed."""
    declare(calls=(3, 45 * M))
    page = edited(open_page)
    page.get_by_label("Capacity").fill("9")
    page.get_by_role("button", name="Save changes").click()
    expect(page.locator(".toast")).to_have_count(1)
    engine.edit("calls", actor=ANA, capacity=7)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".toast.notice-error p")).to_have_text("Not undone: the capacity changed since, it is 7 now.")
    expect(page.locator("#warned")).to_have_text("Not undone: the capacity changed since, it is 7 now.")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".toast")).to_have_count(0)


def test_an_override_is_reset_in_the_panel_after_a_warning(open_page: Open, declare: Declare) -> None:
    """O1: the field's own button; it asks once where the declared value warns."""
    declare(calls=(1, 45 * M))
    fill("calls", 2)
    engine.edit("calls", actor=ANA, capacity=3)
    page = edited(open_page)
    page.get_by_role("button", name="Reset to declared (1)").click()
    expect(page.locator("#panel").get_by_role("alert")).to_contain_text("2 held slots must finish")
    page.get_by_role("button", name="Reset to declared (1)").click()
    expect(page.locator(".toast p")).to_have_text("Capacity follows the config again: 1.")
    assert calls().capacity.override is None
