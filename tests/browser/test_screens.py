"""S6: every screen, in both themes and at every width, read by axe and measured by the browser."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from limits import engine, pool, rules
from tests.browser.conftest import THEMES, Open, scrolls_sideways
from tests.scene import ANA

WIDTHS = (1280, 768, 320)
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def screens(ids: dict[str, str]) -> dict[str, str]:
    """Return the address of each screen over the call centre."""
    calls = [slot for label, slot in ids.items() if label.startswith("call_")]
    return {
        "list": "/limits/",
        "list, nothing found": "/limits/?q=voicee",
        "full": "/limits/voice-calls/",
        "over, overdue": "/limits/partner-api/",
        "paused": "/limits/sms-out/",
        "idle": "/limits/webhook_retry/",
        "pages": "/limits/bulk-import/?order=expiry",
        "edit": "/limits/partner-api/edit/",
        "reset": "/limits/partner-api/reset/capacity/",
        "pause": "/limits/voice-calls/pause/",
        "resume": "/limits/sms-out/resume/",
        "release": f"/limits/voice-calls/slots/{calls[0]}/release/",
        "already free": f"/limits/voice-calls/slots/{calls[3]}/release/",
        "no such limit": "/limits/voice-cals/",
    }


def check(page: Page, name: str) -> None:
    """Assert that axe finds nothing and that nothing must be scrolled sideways."""
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": AXE_TAGS}})
    assert found.violations_count == 0, f"{name}: {found.generate_report()}"
    assert not scrolls_sideways(page), name


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", THEMES)
def test_no_screen_has_a_barrier_or_scrolls_sideways(
    open_page: Open, call_center: dict[str, str], theme: str, width: int
) -> None:
    """S6: keyboard and screen reader reach everything (WCAG 2.2 AA); 320 px reflow holds."""
    page = open_page("/limits/", theme=theme, width=width)
    for name, path in screens(call_center).items():
        page.goto(path)
        check(page, name)


@pytest.mark.parametrize("width", [640, 375])
def test_the_list_is_sorted_by_sight_and_keyboard_on_a_narrow_screen(
    open_page: Open, call_center: dict[str, str], width: int
) -> None:
    """S6: at 200 % zoom too, each sort stands where it is seen and focus never goes where nothing is."""
    page = open_page("/limits/", width=width)
    sorts = page.locator("thead .sort")
    assert [sort.inner_text() for sort in sorts.all()] == [
        "Limit",
        "Busy / capacity",
        "Waiting",
        "Oldest wait",
        "State",
    ]
    for sort in sorts.all():
        seen = "at => { const box = at.getBoundingClientRect();"
        seen += " return at.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)) }"
        assert sort.evaluate(seen), sort.inner_text()
    sorts.nth(2).click()
    assert page.locator("tbody th").first.inner_text().strip() == "sms-out"
    assert not scrolls_sideways(page)


@pytest.mark.parametrize(("path", "highest"), [("/limits/", 38), ("/limits/voice-calls/", 36)])
def test_a_row_is_one_line_on_a_wide_screen(
    open_page: Open, call_center: dict[str, str], path: str, highest: int
) -> None:
    """S1, S2: a table is read at a glance."""
    heights = [box["height"] for row in open_page(path).locator("tbody tr").all() if (box := row.bounding_box())]
    assert len(heights) >= 7
    assert max(heights) <= highest


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", THEMES)
def test_no_form_with_errors_or_warnings_has_a_barrier(
    open_page: Open, call_center: dict[str, str], theme: str, width: int
) -> None:
    """S6: the states of the edit form: error, preview, warning, conflict."""
    page = open_page("/limits/voice-calls/edit/", theme=theme, width=width)
    page.get_by_label("Capacity").fill("5.0")
    page.get_by_label("Max hold").fill("45")
    page.get_by_role("button", name="Save changes").click()
    assert page.locator("#errors").is_visible()
    check(page, "error")
    page.get_by_label("Capacity").fill("30")
    page.get_by_label("Max hold").fill("2h")
    expect(page.locator("#preview")).to_contain_text("45m to 2h for new slots.")
    check(page, "preview")
    page.get_by_label("Capacity").fill("2")
    page.get_by_role("button", name="Save changes").click()
    check(page, "warning")
    engine.edit("voice-calls", actor=ANA, capacity=25)
    page.get_by_role("button", name="Save anyway: capacity 2").click()
    assert "This limit changed while you were editing" in page.locator("#errors").inner_text()
    check(page, "conflict")


def test_labels_that_differ_in_blanks_alone_look_different(open_page: Open, declare: Callable[..., object]) -> None:
    """S2, S3: what is shown is what the label is."""
    declare(calls=(4, rules.MINUTE))
    for n, label in enumerate(["a b", "a  b", " a b"]):
        engine.request("calls", key=f"k{n}", label=label)
    page = open_page("/limits/calls/")
    shown = page.locator(".c-label > .label").all()
    boxes = [box for label in shown if (box := label.bounding_box())]
    assert [label.inner_text() for label in shown] == ["a b", "a  b", " a b"]
    assert boxes[0]["width"] < boxes[1]["width"] == boxes[2]["width"]
    assert len({box["height"] for box in boxes}) == 1


@pytest.mark.parametrize("path", ["/limits/webhook_retry/edit/", "/limits/webhook_retri/"])
def test_the_line_under_a_link_hides_no_underscore(open_page: Open, call_center: dict[str, str], path: str) -> None:
    """S6: a limit's name is read right where it is a link."""
    name = open_page(path).get_by_role("link", name="webhook_retry")
    assert name.evaluate("at => getComputedStyle(at).textUnderlineOffset") == "4px"


@pytest.mark.parametrize("width", [1280, 375])
def test_whatever_a_finger_hits_is_large_enough(open_page: Open, call_center: dict[str, str], width: int) -> None:
    """S6: 44 px each way where the pointer is coarse."""
    page = open_page("/limits/", width=width, touch=True)
    assert page.evaluate("matchMedia('(pointer: coarse)').matches")
    more = {"empty filter": "/limits/?show=stuck", "no slot found": "/limits/voice-calls/?q=nobody"}
    for name, path in {**screens(call_center), **more}.items():
        page.goto(path)
        for target in page.locator("a:visible, button:visible, input:visible, summary:visible").all():
            # A limit's link in the list is hit anywhere in its cell or block.
            row_link = "row-link" in (target.get_attribute("class") or "")
            box = (target.locator("xpath=ancestor::tr") if row_link else target).bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 44, (name, target.inner_text(), box)
        assert not scrolls_sideways(page), name


def test_the_longest_figures_keep_the_list_in_its_window(
    open_page: Open, declare: Callable[..., object], box: pool.Database
) -> None:
    """S1, S6: at every width between a phone and a screen, as a table and as blocks."""
    name = "w" * 64
    declare(**{name: (100_000, rules.MAX_HOLD_MAX - 1_000), "calls": (1, rules.MINUTE)})
    engine.request(name, key="k", timeout=rules.DAY)
    # As if so many held and waited, which would take minutes to be true.
    box.fetch(
        "UPDATE limits.limit SET busy = 112345, reserved = 12, waiting = 12345 WHERE name = %s RETURNING id", [name]
    )
    declare(calls=(1, rules.MINUTE))
    page = open_page("/limits/")
    for width in (1280, 1024, 1023, 940, 939, 840, 839, 800, 768, 767, 740, 720, 375, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert not scrolls_sideways(page), width
        row, frame = (page.locator(part).first.bounding_box() for part in ("tbody tr", ".table-wrap"))
        assert row is not None
        assert frame is not None
        assert row["width"] <= frame["width"], width


def test_a_printed_page_keeps_its_tables(open_page: Open, call_center: dict[str, str]) -> None:
    """S6: on paper, narrower than many a window, heads repeat on each sheet and nothing is offered to be pressed."""
    for path in ("/limits/", "/limits/voice-calls/"):
        # A4 with margins of a centimetre.
        page = open_page(path, width=718)
        page.emulate_media(media="print")
        shown = "at => getComputedStyle(at).display"
        assert page.locator("thead").first.evaluate(shown) == "table-header-group"
        assert {row.evaluate(shown) for row in page.locator("tbody tr").all()} == {"table-row"}
        assert not any(button.is_visible() for button in page.locator(".button, button").all())
        assert not scrolls_sideways(page)


def test_type_twice_as_large_keeps_the_list_in_its_window(open_page: Open, call_center: dict[str, str]) -> None:
    """S6: who sets larger type in the browser gets the layout of a narrower window."""
    page = open_page("/limits/")
    page.context.new_cdp_session(page).send("Page.setFontSizes", {"fontSizes": {"standard": 32}})
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "32px"
    assert page.locator("tbody tr").first.evaluate("at => getComputedStyle(at).display") == "flex"
    assert not scrolls_sideways(page)


def test_long_and_hostile_labels_keep_the_page_in_its_window(open_page: Open, declare: Callable[..., object]) -> None:
    """Case 67: layout intact, whatever a label holds."""
    name = "w" * 64
    declare(**{name: (4, 45 * rules.MINUTE)})
    for n, label in enumerate(["x" * 200, "</title><script>alert(1)</script>", "\u202e" + "ש" * 199, "a b " * 50]):
        engine.request(name, key=f"k{n}", label=label, run_id=f"run_{'9' * 60}{n}", workflow="w" * 100)
    engine.request(name, key="waiting", label="x" * 200, run_id="run_" + "9" * 60, workflow="w" * 100)
    for width in WIDTHS:
        page = open_page(f"/limits/{name}/", width=width)
        assert not scrolls_sideways(page), width
        page.locator(".slots .c-action a").first.click()
        assert not scrolls_sideways(page), width
        page.get_by_role("button", name="Release slot").click()
        assert not scrolls_sideways(page), width
        page.goto("/limits/")
        assert not scrolls_sideways(page), width


def test_empty_screens_have_no_barrier(open_page: Open, declare: Callable[..., object]) -> None:
    """S6: the first page a newcomer sees."""
    for width in WIDTHS:
        page = open_page("/limits/", width=width)
        assert page.get_by_role("heading", name="No limits yet").is_visible()
        check(page, f"empty at {width}")
