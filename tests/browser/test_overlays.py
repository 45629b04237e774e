"""S6: what lies over or beside a page, read by axe and measured, in both themes and at every width."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import THEMES, Open, scrolls_sideways
from tests.browser.test_screens import WIDTHS, check


def quiet(page: Page) -> None:
    """Wait until the dialog takes clicks."""
    settled = "at => Promise.all(at.getAnimations().map(each => each.finished)).then(() => true)"
    assert page.locator("dialog:modal").evaluate(settled)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", THEMES)
def test_nothing_that_opens_has_a_barrier(open_page: Open, call_center: dict[str, str], theme: str, width: int) -> None:
    """S6: dialog, dialog with an error, help, panel with a preview, a toast with Undo."""
    page = open_page("/limits/voice-calls/", theme=theme, width=width)
    page.locator("[data-dialog]:has-text('Release…')").first.click()
    expect(page.get_by_role("alertdialog")).to_be_visible()
    quiet(page)
    check(page, "release")
    page.context.set_offline(True)
    page.get_by_role("button", name="Release slot").click()
    expect(page.get_by_role("alertdialog").get_by_role("alert")).to_be_visible()
    page.context.set_offline(False)
    check(page, "not released")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    quiet(page)
    check(page, "help")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Edit limit").click()
    page.get_by_label("Capacity").fill("12")
    expect(page.locator("#preview")).to_contain_text("What will happen")
    check(page, "panel")
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("button", name="Save anyway").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    check(page, "toast")


@pytest.mark.parametrize("width", [1280, 375])
def test_whatever_a_finger_hits_in_a_dialog_is_large_enough(
    open_page: Open, call_center: dict[str, str], width: int
) -> None:
    """S6: 44 px each way where the pointer is coarse."""
    page = open_page("/limits/voice-calls/", width=width, touch=True)
    page.locator("[data-dialog]:has-text('Release…')").first.click()
    for target in page.get_by_role("alertdialog").locator(".button").all():
        box = target.bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 44, target.inner_text()
    assert not scrolls_sideways(page)


def test_a_long_dialog_scrolls_in_itself(open_page: Open, call_center: dict[str, str]) -> None:
    """S6: at 400 % zoom the buttons are still reached."""
    page = open_page("/limits/voice-calls/", width=320)
    page.set_viewport_size({"width": 320, "height": 256})
    page.locator("[data-dialog]:has-text('Release…')").first.click()
    keep = page.get_by_role("link", name="Keep slot")
    expect(keep).to_be_focused()
    expect(keep).to_be_in_viewport()
