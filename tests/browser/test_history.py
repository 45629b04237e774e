"""A limit's history in a real browser: read point by point, at every width, without scripts too."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from limits import engine, queries
from limits.rules import HOUR, MINUTE
from tests.browser.conftest import THEMES, Open, scrolls_sideways
from tests.browser.test_screens import check
from tests.conftest import Clock

READING = re.compile(r"^(\d+ \w+ )?\d\d:\d\d UTC: \d+ busy, \d+ reserved, \d+ waiting; capacity \d+\.")


def frame(page: Page) -> tuple[float, float, float, float]:
    """Return the box of the drawing that shows: left, top, width, height."""
    (shown,) = [chart for chart in page.locator(".chart").all() if chart.is_visible()]
    shown.scroll_into_view_if_needed()
    box = shown.bounding_box()
    assert box is not None
    return box["x"], box["y"], box["width"], box["height"]


@pytest.mark.parametrize("width", [1280, 800, 375])
def test_the_pointer_reads_the_nearest_point(open_page: Open, call_center: dict[str, str], width: int) -> None:
    """What stands under it is said under the drawing, and goes with it."""
    page = open_page("/limits/voice-calls/", width=width)
    left, top, wide, _ = frame(page)
    reading = page.locator(".chart-reading")
    last = page.locator("[data-point]").first.get_attribute("data-said")
    page.mouse.move(left + wide - 12, top + 60)
    expect(reading).to_have_text(last or "")
    page.mouse.move(left + wide / 2, top + 60)
    expect(reading).to_have_text(READING)
    expect(reading).not_to_have_text(last or "")
    page.mouse.move(left + wide / 2, top - 60)
    expect(reading).to_have_text("")


def test_arrow_keys_step_through_the_points(open_page: Open, call_center: dict[str, str]) -> None:
    """S6: a slider whose value is a point in words."""
    page = open_page("/limits/voice-calls/")
    slider = page.get_by_role("slider", name="Points of the history")
    reading = page.locator(".chart-reading")
    rows = [row.get_attribute("data-said") for row in page.locator("[data-point]").all()]
    slider.focus()
    for key, row in [("End", 0), ("ArrowLeft", 1), ("ArrowLeft", 2), ("ArrowRight", 1), ("PageDown", 11), ("Home", -1)]:
        page.keyboard.press(key)
        expect(reading).to_have_text(rows[row] or "")
        expect(slider).to_have_attribute("aria-valuetext", rows[row] or "")
    assert (rows[-1] or "").endswith(": no data.")
    page.keyboard.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuenow", "0")
    page.keyboard.press("Tab")
    expect(reading).to_have_text("")


def test_a_swap_leaves_a_slider_in_use(open_page: Open, call_center: dict[str, str]) -> None:
    """S5: where the section is fetched anew and morphed in, it is read on from where one was."""
    page = open_page("/limits/voice-calls/")
    slider = page.get_by_role("slider", name="Points of the history")
    slider.focus()
    page.keyboard.press("Home")
    for number in range(30):
        engine.request("voice-calls", key=f"more-{number}")
    page.evaluate("htmx.ajax('GET', location.href, { target: '#history', select: '#history', swap: 'outerMorph' })")
    limit = queries.limit("voice-calls")
    assert limit is not None
    expect(page.locator(".history-said")).to_contain_text(f"Waiting peaked at {limit.waiting} ")
    expect(slider).to_be_focused()
    expect(page.locator(".chart-reading")).to_have_text(re.compile(r"no data\.$"))
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuenow", "1")
    page.keyboard.press("End")
    expect(page.locator(".chart-reading")).to_contain_text(f"{limit.waiting} waiting")


@pytest.mark.parametrize("scripts", [True, False])
def test_ranges_and_table_work_by_links_and_disclosure(
    open_page: Open, call_center: dict[str, str], scripts: bool
) -> None:
    """S6: with JavaScript off too, and each range stays in the address."""
    page = open_page("/limits/partner-api/", scripts=scripts)
    page.locator("#history").get_by_role("link", name="6h").click()
    assert page.url.endswith("?range=6h#history")
    page.get_by_text("Show as table").click()
    table = page.locator(".history-table")
    expect(table.locator("tbody tr").first).to_contain_text("7")
    expect(table).to_contain_text("Capacity changed")
    assert page.get_by_role("slider").count() == int(scripts)
    page.get_by_label("Find run, label or slot ID").fill("sync/")
    page.get_by_role("button", name="Find").click()
    assert "range=6h" in page.url


@pytest.mark.parametrize("width", [1280, 768, 320])
@pytest.mark.parametrize("theme", THEMES)
def test_no_range_has_a_barrier(open_page: Open, call_center: dict[str, str], theme: str, width: int) -> None:
    """S6: drawing, table and empty state, with one drawing shown and the page in its window."""
    page = open_page("/limits/partner-api/", theme=theme, width=width)
    for name in ("partner-api/?range=7d", "partner-api/", "sms-out/?range=24h", "webhook_retry/"):
        page.goto(f"/limits/{name}")
        if page.locator(".chart").count():
            frame(page)
            page.get_by_text("Show as table").click()
        check(page, name)
        assert not scrolls_sideways(page)


def test_the_drawing_fits_the_widest_figures(open_page: Open, declare: Callable[..., object], clock: Clock) -> None:
    """No label leaves the drawing, or the strip at its left."""
    declare(calls=(100_000, HOUR))
    engine.request("calls", key="k")
    clock.advance(5 * MINUTE)
    engine.roll_up()
    for width in (1280, 1000, 700, 320):
        page = open_page("/limits/calls/?range=7d", width=width)
        left, _, wide, _ = frame(page)
        for label in page.locator(".chart text").all():
            if label.is_visible() and (box := label.bounding_box()):
                assert left - 1 <= box["x"], label.text_content()
                assert box["x"] + box["width"] <= left + wide + 1, label.text_content()


def test_on_paper_the_table_is_open(open_page: Open, call_center: dict[str, str]) -> None:
    """S6: what is behind a disclosure on screen is there in print."""
    page = open_page("/limits/voice-calls/", width=718)
    row = page.locator(".history-table tbody tr").first
    assert not row.is_visible()
    page.emulate_media(media="print")
    assert row.is_visible()
    assert not page.locator("#history .filters").is_visible()


def test_a_row_that_is_pushed_keeps_its_last_hour(open_page: Open, call_center: dict[str, str]) -> None:
    """S5: counts move with each change, the drawing of the hour beside them stays."""
    page = open_page("/limits/")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    row = page.locator("#limit-nightly-export")
    drawn = row.locator(".spark-held").get_attribute("d")
    assert drawn
    engine.request("nightly-export", key="one-more")
    expect(row.locator(".c-waiting")).to_have_text("1")
    expect(row.locator(".spark-held")).to_have_attribute("d", drawn)


def test_an_open_page_draws_the_history_anew_once_a_minute(open_page: Open, call_center: dict[str, str]) -> None:
    """S5: with the rest of the page, but not more often."""
    page = open_page("/limits/webhook_retry/?range=6h")
    fetched: list[str] = []
    page.on("request", lambda asked: fetched.append(asked.url) if "/history/" in asked.url else None)
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    expect(page.locator("#history")).to_contain_text("No history yet.")
    page.clock.install()
    engine.request("webhook_retry", key="first")
    expect(page.locator("#busy .c-held")).to_have_count(1 + 1)
    assert fetched == []
    page.clock.fast_forward(61_000)
    with page.expect_response(lambda answer: "/history/" in answer.url) as fetch:
        engine.request("webhook_retry", key="second")
    assert fetch.value.ok
    assert [url.partition("/live/")[2] for url in fetched] == ["limits/webhook_retry/history/?range=6h"]
    expect(page.locator("#history")).to_contain_text("No history yet.")
