"""S6: the pages of runs and workflows, in both themes and at every width; and an operator's work on them."""

import pytest
from playwright.sync_api import expect

from limits import pool
from stackbone import runs
from tests import scene_runs
from tests.browser.conftest import THEMES, Open, scrolls_sideways
from tests.browser.test_screens import WIDTHS, check
from tests.studio.runs import LINES, know, record, start, turn

SCREENS = {
    "runs": "/runs/",
    "runs, nothing found": "/runs/?workflow=nothing&status=failed",
    "waiting": f"/runs/{scene_runs.WAITING}/",
    "holding": f"/runs/{scene_runs.HOLDING}/",
    "failed": f"/runs/{scene_runs.FAILED}/",
    "stranded": f"/runs/{scene_runs.STRANDED}/",
    "cancel": f"/runs/{scene_runs.HOLDING}/cancel/",
    "already ended": f"/runs/{scene_runs.FAILED}/cancel/",
    "no such run": "/runs/nope/",
    "workflows": "/workflows/",
    "trigger": "/workflows/place_call/trigger/",
    "no such workflow": "/workflows/place_cal/trigger/",
}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", THEMES)
def test_no_page_of_a_run_has_a_barrier_or_scrolls_sideways(
    open_page: Open, with_runs: dict[str, str], theme: str, width: int
) -> None:
    """S6: keyboard and screen reader reach everything (WCAG 2.2 AA); 320 px reflow holds."""
    page = open_page("/runs/", theme=theme, width=width)
    for name, path in SCREENS.items():
        page.goto(path)
        check(page, name)
    page.goto("/workflows/place_call/trigger/")
    page.get_by_role("button", name="Start run").click()
    expect(page.locator("#errors")).to_be_focused()
    check(page, "trigger, refused")


@pytest.mark.parametrize("width", [1280, 375])
def test_whatever_a_finger_hits_on_a_run_is_large_enough(
    open_page: Open, with_runs: dict[str, str], width: int
) -> None:
    """S6: 44 px each way where the pointer is coarse."""
    page = open_page("/runs/", width=width, touch=True)
    for name, path in SCREENS.items():
        page.goto(path)
        for target in page.locator(
            "a:visible, button:visible, input:visible:not([type=checkbox]), select:visible"
        ).all():
            box = target.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 44, (name, target.inner_text(), box)
        assert not scrolls_sideways(page), name


@pytest.mark.parametrize("width", WIDTHS)
def test_long_and_hostile_text_keeps_a_run_in_its_window(open_page: Open, box: pool.Database, width: int) -> None:
    """Case 67: layout intact, whatever a program calls its work."""
    long, run_id = "w" * 200, "</title><script>alert(1)</script>" + "9" * 100
    know(long, schema=LINES)
    start(long, {"lines": list(range(1_000))}, run_id=run_id)
    error = {"name": "E" * 300, "message": "x" * 3_000}
    record(box, run_id, 1, "s" * 300, error=error)
    turn(box, run_id, "ERROR", error=error)
    page = open_page("/runs/", width=width)
    assert not scrolls_sideways(page)
    page.locator(".runs .run-link").click()
    assert not scrolls_sideways(page)
    page.goto("/workflows/")
    assert not scrolls_sideways(page)
    page.get_by_role("link", name="Trigger…").click()
    assert not scrolls_sideways(page)


@pytest.mark.parametrize("scripts", [False, True], ids=["without scripts", "with scripts"])
def test_a_run_is_started_found_and_cancelled(open_page: Open, with_runs: dict[str, str], scripts: bool) -> None:
    """S6: the whole way by links and forms."""
    page = open_page("/runs/", scripts=scripts)
    page.get_by_role("link", name="Trigger…").click()
    page.get_by_role("link", name="Trigger… place_call").click()
    page.get_by_label("call_id").fill("call-17")
    page.get_by_label("queue").select_option(label="slow")
    page.get_by_label("record").uncheck()
    page.get_by_role("button", name="Start run").click()
    said = page.locator("#toasts" if scripts else ".messages")
    expect(said).to_contain_text("The run was started.")
    run = runs.run(page.url.rstrip("/").rpartition("/")[2])
    assert run is not None
    assert run.input == {"call_id": "call-17", "tries": 3, "rate": 1.5, "record": False, "queue": "slow"}
    page.get_by_role("link", name="Cancel run…").click()
    expect(page.locator(":focus")).to_have_text("Keep run")
    page.get_by_role("button", name="Cancel run").click()
    expect(said).to_contain_text("Cancelled ")
    page.get_by_role("link", name="Runs").first.click()
    page.get_by_role("link", name="Cancelled").click()
    expect(page.locator("tbody")).to_contain_text(run.row.id)
