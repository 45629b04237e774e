"""S6: an operator's work in a real browser, with JavaScript on and off."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from limits import engine, queries, rules
from tests.browser.conftest import Open
from tests.scene import ANA

M = rules.MINUTE

pytestmark = pytest.mark.parametrize("scripts", [False, True], ids=["without scripts", "with scripts"])

type Declare = Callable[..., object]


def fill(limit: str, count: int) -> list[str]:
    """Ask for `count` slots labelled r0, r1, …; return their ids."""
    asked = [engine.request(limit, key=f"{limit}-{n}", label=f"r{n}", run_id=f"run_{n}") for n in range(count)]
    return [slot.slot_id for slot in asked if slot.slot_id]


def states(ids: list[str]) -> list[str]:
    return [slot.state for slot in map(queries.slot, ids) if slot]


def told(page: Page, text: str) -> None:
    """Wait until what came of an action is told: by a toast with scripts, else by a notice of the page."""
    expect(page.locator(".messages .notice p, .toast p").last).to_contain_text(text)


def test_from_the_list_to_a_limit_by_search_and_filter(
    open_page: Open, call_center: dict[str, str], scripts: bool
) -> None:
    """S6, case 68: every state has a URL; Back shows a full page with the right filter."""
    page = open_page("/limits/", scripts=scripts)
    rows = page.locator("tbody tr")
    assert rows.count() == 7
    page.get_by_role("link", name="Over 1").click()
    expect(page).to_have_url("/limits/?show=over")
    assert rows.count() == 1
    page.get_by_role("link", name="partner-api").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("partner-api")
    assert "A slot is past its max hold" in page.locator(".notice-over:visible").inner_text()
    page.go_back()
    expect(page).to_have_url("/limits/?show=over")
    assert rows.count() == 1
    assert page.locator("header.top").is_visible()
    page.get_by_label("Find a limit").fill("voice")
    page.get_by_role("button", name="Find").click()
    assert "No limit of these matches “voice”" in page.locator("tbody").inner_text()
    page.get_by_role("link", name="Clear search").first.click()
    page.get_by_role("link", name="All 7").click()
    page.get_by_role("columnheader", name="Waiting").get_by_role("link").click()
    assert rows.first.locator("th").inner_text().strip() == "sms-out"
    page.reload()
    assert rows.first.locator("th").inner_text().strip() == "sms-out"


def test_the_keyboard_reaches_everything_on_a_limit(
    open_page: Open, call_center: dict[str, str], scripts: bool
) -> None:
    """S6: tab order is reading order, from the skip link on."""
    page = open_page("/limits/voice-calls/", scripts=scripts)
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to content")
    page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.locator(":focus").inner_text().startswith("Release…"):
            break
    expect(page.locator(":focus")).to_contain_text("Release…")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Release this slot?")).to_be_visible()
    expect(page.locator(":focus")).to_have_text("Keep slot")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("voice-calls")
    limit = queries.limit("voice-calls")
    assert limit is not None
    assert limit.busy == 19


def test_a_stuck_slot_is_released_and_the_next_run_has_it(open_page: Open, declare: Declare, scripts: bool) -> None:
    """S3, F6; case 68: Back never repeats a release."""
    declare(calls=(1, 45 * M))
    ids = fill("calls", 3)
    page = open_page("/limits/calls/", scripts=scripts)
    page.get_by_role("link", name="Release… r0").click()
    page.get_by_label("Reason").fill("the provider lost it")
    page.get_by_role("button", name="Release slot").click()
    told(page, "Released r0. run_1 gets the slot.")
    assert states(ids) == ["released", "reserved", "waiting"]
    page.reload()
    assert page.locator(".messages").count() == 0
    page.go_back()
    page.go_forward()
    assert states(ids) == ["released", "reserved", "waiting"]


def test_a_double_click_on_release_frees_one_slot(open_page: Open, declare: Declare, scripts: bool) -> None:
    """Case 73: the second click hits nothing else."""
    declare(calls=(2, 45 * M))
    ids = fill("calls", 4)
    page = open_page(f"/limits/calls/slots/{ids[0]}/release/", scripts=scripts)
    page.get_by_role("button", name="Release slot").dblclick()
    expect(page.get_by_role("heading", level=1)).to_have_text("calls")
    assert states(ids) == ["released", "busy", "reserved", "waiting"]
    releases = [change for change in queries.changes(limit="calls").items if change.kind == "release"]
    assert len(releases) == 1


def test_a_slot_released_by_somebody_else_says_so_kindly(open_page: Open, declare: Declare, scripts: bool) -> None:
    """S3: a page opened for a slot that somebody else released meanwhile."""
    declare(calls=(2, 45 * M))
    ids = fill("calls", 3)
    page = open_page(f"/limits/calls/slots/{ids[0]}/release/", scripts=scripts)
    engine.release(ids[0], actor=ANA)
    page.get_by_role("button", name="Release slot").click()
    told(page, "Nothing changed. That slot was already free (released ")
    assert states(ids) == ["released", "busy", "reserved"]
    page.goto(f"/limits/calls/slots/{ids[0]}/release/")
    expect(page.get_by_role("heading", level=1)).to_have_text("This slot is already free")
    expect(page.locator(".panel")).to_contain_text("ana@example.com released it at")
    page.get_by_role("link", name="Close").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("calls")


def test_an_edit_with_an_error_is_mended_previewed_and_saved(open_page: Open, declare: Declare, scripts: bool) -> None:
    """S4: errors at the field, preview, save."""
    declare(calls=(2, 45 * M))
    fill("calls", 6)
    page = open_page("/limits/calls/", scripts=scripts)
    page.get_by_role("link", name="Edit limit").click()
    page.get_by_label("Max hold").fill("45 min")
    page.get_by_role("button", name="Save changes").click()
    if not scripts:
        expect(page).to_have_title("Error: Edit calls · Studio")
    expect(page.locator(":focus")).to_have_id("errors")
    page.get_by_role("link", name="Max hold must be a duration, like 45m, 2h or 1h30m").click()
    expect(page.locator(":focus")).to_have_id("id_max_hold")
    page.get_by_label("Max hold").fill("2h")
    page.get_by_label("Capacity").fill("5")
    if not scripts:
        page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("Starts 3 of 4 waiting runs at once.")
    expect(page.locator("#preview")).to_contain_text("2 busy slots keep their expiry")
    page.get_by_role("button", name="Save changes").click()
    told(page, "Capacity is now 5. Max hold is now 2h for new slots. 3 runs started.")
    expect(page.locator(".provenance")).to_contain_text("Capacity 5, override by ")


def test_the_focus_goes_to_what_is_wrong_on_every_small_page(open_page: Open, declare: Declare, scripts: bool) -> None:
    """S6: a refused reason, or what a reset warns of; the safe way out has the focus only while nothing is wrong."""
    declare(calls=(1, 45 * M), other=(1, 45 * M))
    slot = fill("calls", 3)[0]
    engine.edit("calls", actor=ANA, capacity=3)
    engine.pause("other", actor=ANA)
    too_long = "x" * 501
    for path, safe, act in (
        ("calls/pause/", "Keep handing out", "Pause limit"),
        ("other/resume/", "Keep paused", "Resume limit"),
        (f"calls/slots/{slot}/release/", "Keep slot", "Release slot"),
        ("calls/reset/capacity/", None, "Reset to declared (1)"),
    ):
        page = open_page(f"/limits/{path}", scripts=scripts)
        if safe:
            expect(page.locator(":focus")).to_have_text(safe)
        page.get_by_label("Reason").evaluate("at => at.removeAttribute('maxlength')")
        page.get_by_label("Reason").fill(too_long)
        page.get_by_role("button", name=act).click()
        expect(page.locator(":focus")).to_have_id("id_reason")
        expect(page.get_by_label("Reason")).to_have_attribute("aria-invalid", "true")
    page = open_page("/limits/calls/edit/", scripts=scripts)
    page.get_by_role("button", name="Reset to declared (1)").click()
    expect(page.locator(":focus")).to_contain_text("3 held slots must finish before the next run starts")
    expect(page.locator(":focus")).to_have_role("alert")
    page.get_by_role("button", name="Reset to declared (1)").click()
    told(page, "Capacity follows the config again: 1.")


def test_a_warned_save_needs_a_second_yes(open_page: Open, declare: Declare, scripts: bool) -> None:
    """O2: lowering below what is held."""
    declare(calls=(3, 45 * M))
    fill("calls", 3)
    page = open_page("/limits/calls/edit/", scripts=scripts)
    page.get_by_label("Capacity").fill("1")
    page.get_by_role("button", name="Save changes").click()
    expect(page.locator(":focus")).to_have_id("preview")
    assert "3 busy slots must finish before the next run starts" in page.locator("#preview").inner_text()
    limit = queries.limit("calls")
    assert limit is not None
    assert not limit.overridden
    page.get_by_role("button", name="Save anyway: capacity 1").click()
    told(page, "Capacity is now 1.")
    expect(page.locator(".limit-head")).to_contain_text("Over by 2")


def test_two_editors_at_once_and_the_second_decides(open_page: Open, declare: Declare, scripts: bool) -> None:
    """O7: 409 with both values."""
    declare(calls=(20, 45 * M))
    ana = open_page("/limits/calls/edit/", scripts=scripts)
    ben = open_page("/limits/calls/edit/", scripts=scripts)
    ana.get_by_label("Capacity").fill("25")
    ana.get_by_role("button", name="Save changes").click()
    ben.get_by_label("Capacity").fill("30")
    with ben.expect_response("**/edit/") as answer:
        ben.get_by_role("button", name="Save changes").click()
    assert answer.value.status == 409
    said = ben.locator("#errors").inner_text()
    assert "set capacity to 25" in said
    assert "Your 30 is still in the form" in said
    expect(ben.get_by_label("Capacity")).to_have_value("30")
    assert "Override 25 by" in ben.locator("#capacity-side").inner_text()
    ben.get_by_role("button", name="Save changes").click()
    told(ben, "Capacity is now 30.")


def test_an_override_is_reset_from_the_form(open_page: Open, declare: Declare, scripts: bool) -> None:
    """O1: the value follows the config again."""
    declare(calls=(20, 45 * M))
    engine.edit("calls", actor=ANA, capacity=30)
    page = open_page("/limits/calls/edit/", scripts=scripts)
    page.get_by_role("button", name="Reset to declared (20)").click()
    told(page, "Capacity follows the config again: 20.")


def test_a_limit_is_paused_and_resumed(open_page: Open, declare: Declare, scripts: bool) -> None:
    """O6: a switch of its own, with who and why."""
    declare(calls=(2, 45 * M))
    fill("calls", 1)
    page = open_page("/limits/calls/", scripts=scripts)
    page.get_by_role("link", name="Pause…").click()
    page.get_by_label("Reason").fill("provider outage")
    page.get_by_role("button", name="Pause limit").click()
    told(page, "calls is paused. No slot is handed out until it is resumed.")
    expect(page.locator(".sentence")).to_contain_text(": provider outage.")
    expect(page.locator(".limit-head")).to_contain_text("Paused, 1 finishing")
    engine.request("calls", key="late")
    page.get_by_role("link", name="Resume…").click()
    expect(page.locator(".panel")).to_contain_text("1 waiting run starts at once.")
    page.get_by_role("button", name="Resume limit").click()
    told(page, "calls hands out slots again. 1 run started.")


def test_a_queue_of_many_is_walked_page_by_page(open_page: Open, declare: Declare, scripts: bool) -> None:
    """S2: keyset pages, absolute positions."""
    declare(calls=(1, 45 * M))
    fill("calls", 252)
    page = open_page("/limits/calls/", scripts=scripts)
    seen: list[str] = []
    while True:
        seen += page.locator("#queue .c-position").all_inner_texts()[1:]
        following = page.get_by_label("Pages of the queue").get_by_role("link", name="Next")
        if not following.count():
            break
        following.click()
    assert seen == [str(n) for n in range(1, 252)]
    page.get_by_label("Find run, label or slot ID").fill("r25")
    page.get_by_role("button", name="Find").click()
    assert page.locator("#queue .c-position").all_inner_texts()[1:] == ["25", "250", "251"]
