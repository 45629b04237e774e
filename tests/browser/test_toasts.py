"""S6: messages are seen, spoken, and never in the way."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from limits import rules
from tests.browser.conftest import Open

type Declare = Callable[..., object]

TOASTS = "import(document.querySelector('script[type=module]').src.replace('studio.js', 'toasts.js'))"


def show(page: Page, text: str, kind: str = "info") -> None:
    page.evaluate(f"([text, kind]) => {TOASTS}.then(toasts => {{ toasts.toast(text, kind) }})", [text, kind])


def opened(open_page: Open, declare: Declare, path: str = "/limits/") -> Page:
    declare(calls=(1, 45 * rules.MINUTE))
    page = open_page("about:blank")
    page.clock.install()
    page.goto(path)
    return page


def test_a_message_goes_after_six_seconds_unless_it_is_read(open_page: Open, declare: Declare) -> None:
    """S6: the pointer or the focus holds it; an error stays."""
    page = opened(open_page, declare)
    show(page, "one")
    page.clock.fast_forward(1_000)
    expect(page.locator(".toast")).to_have_text("one")
    page.locator(".toast").hover()
    page.clock.fast_forward(60_000)
    expect(page.locator(".toast")).to_have_text("one")
    page.mouse.move(900, 100)
    page.clock.fast_forward(6_100)
    expect(page.locator(".toast")).to_have_count(0)
    show(page, "wrong", "error")
    page.clock.fast_forward(600_000)
    expect(page.locator(".toast")).to_have_text("wrong")


def test_there_are_two_at_most_and_labels_are_text(open_page: Open, declare: Declare) -> None:
    """S6, case 67: the newest stay, markup shows literally."""
    page = opened(open_page, declare)
    for text in ("one", "two", "<img src=x onerror=alert(1)>"):
        show(page, text)
    assert page.locator(".toast").all_inner_texts() == ["two", "<img src=x onerror=alert(1)>"]


def test_the_same_words_are_spoken_again(open_page: Open, declare: Declare) -> None:
    """S6, case 71: the place is emptied first, or a reader hears nothing."""
    page = opened(open_page, declare)
    page.evaluate(
        "window.spoken = []; new MutationObserver(() => spoken.push(said.textContent))"
        ".observe(said, {childList: true, characterData: true, subtree: true})"
    )
    for _ in range(2):
        show(page, "Copied")
        page.clock.run_for(100)
    assert page.evaluate("spoken.filter(text => text === 'Copied').length") == 2
    assert page.evaluate("spoken.includes('')")


def test_no_message_lies_over_a_button(open_page: Open, declare: Declare) -> None:
    """S6: it goes to the top where a button stands at the bottom left."""
    page = opened(open_page, declare, "/limits/calls/edit/")
    save = page.get_by_role("button", name="Save changes").bounding_box()
    assert save
    page.set_viewport_size({"width": 1280, "height": int(save["y"] + 60)})
    show(page, "a message", "error")
    assert page.get_by_role("button", name="Save changes").evaluate(
        "at => { const box = at.getBoundingClientRect();"
        " return at.contains(document.elementFromPoint(box.x + 5, box.y + 5)) }"
    )
