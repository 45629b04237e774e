"""S3: a page always says how fresh it is, comes back by itself, and its numbers are then those of the box."""

import itertools
import re
import signal
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from limits import engine, pool, rules
from tests.chromium import launch_arguments
from tests.conftest import Clock
from tests.relay import Relay
from tests.scene import ANA
from tests.studio_process import Studio

M = rules.MINUTE

type Declare = Callable[..., object]

_keys = itertools.count()


def ask(limit: str, label: str | None = None) -> str:
    """Ask for a slot and return its id."""
    asked = engine.request(limit, key=f"key-{next(_keys)}", label=label)
    assert asked.slot_id is not None
    return asked.slot_id


@pytest.fixture
def own_studio(migrated: str, box: pool.Database) -> Iterator[Studio]:
    """Lend a Studio of the test's own, to be stopped and started."""
    studio = Studio(migrated)
    studio.start()
    yield studio
    studio.stop()


@pytest.fixture
def page(browser: Browser, own_studio: Studio, declare: Declare) -> Iterator[Page]:
    """Lend a page of that Studio whose hours can be wound on, live on a limit's page."""
    declare(calls=(5, 45 * M))
    context = browser.new_context(base_url=own_studio.address)
    page = context.new_page()
    page.clock.install()
    page.goto("/limits/calls/")
    becomes(page, "live")
    yield page
    context.close()


def becomes(page: Page, state: str, text: str | re.Pattern[str] | None = None) -> None:
    """Wait until a page says that of itself."""
    expect(page.locator("#live")).to_have_attribute("data-state", state, timeout=20_000)
    if text is not None:
        expect(page.locator("#live .live-text")).to_have_text(text)


def busy(page: Page) -> str:
    return page.locator(".figures dd b").first.inner_text()


def test_a_killed_studio_is_seen_and_comes_back(page: Page, own_studio: Studio) -> None:
    """S3, check 6, case 79: reconnecting, polling, stale; then all that was missed, and live again."""
    own_studio.kill()
    becomes(page, "reconnecting", re.compile(r"^Reconnecting… next try in \d+s$"))
    expect(page.get_by_role("button", name="Try now")).to_be_visible()
    page.clock.fast_forward(6_000)
    expect(page.locator("#said")).to_have_text("Connection lost. The numbers stand still.")
    page.clock.fast_forward(26_000)
    becomes(page, "polling", "Updating every 15s")
    page.clock.fast_forward(15_000)
    becomes(page, "stale", re.compile(r"^Not updating since \d\d:\d\d:\d\d$"))
    expect(page.locator("#stale")).to_contain_text("Studio cannot reach the box. Actions may fail.")
    ask("calls", "missed")
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    own_studio.start()
    page.clock.fast_forward(16_000)
    becomes(page, "live")
    expect(page.locator("#busy tbody")).to_contain_text("missed")
    expect(page.locator("#stale")).to_be_hidden()
    assert busy(page) == "1"
    expect(page.locator("#said")).to_have_text("Connected again.")


def test_a_page_comes_back_by_itself(page: Page, own_studio: Studio) -> None:
    """S3, case 79: nobody has to press anything."""
    own_studio.stop()
    becomes(page, "reconnecting")
    ask("calls", "missed")
    own_studio.start()
    page.clock.fast_forward(16_000)
    becomes(page, "live")
    expect(page.locator("#busy tbody")).to_contain_text("missed")


def test_a_connection_without_a_sign_of_life_is_none(page: Page, own_studio: Studio) -> None:
    """S3: a half-open connection looks alive for ever; 25 seconds of silence end it."""
    own_studio.send(signal.SIGSTOP)
    page.clock.fast_forward(26_000)
    becomes(page, "reconnecting")
    own_studio.send(signal.SIGCONT)
    page.clock.fast_forward(16_000)
    becomes(page, "live")


def test_without_sockets_a_page_lives_by_asking(browser: Browser, own_studio: Studio, declare: Declare) -> None:
    """S3, case 85: a proxy that lets no socket through costs freshness, not truth."""
    declare(calls=(5, 45 * M))
    context = browser.new_context(base_url=own_studio.address)
    page = context.new_page()
    page.clock.install()
    page.route_web_socket("**/ws/studio/**", lambda socket: socket.close(code=1011))
    page.goto("/limits/calls/")
    becomes(page, "reconnecting")
    page.clock.fast_forward(31_000)
    becomes(page, "polling")
    ask("calls", "polled")
    page.clock.fast_forward(16_000)
    expect(page.locator("#busy tbody")).to_contain_text("polled")
    becomes(page, "polling", "Updating every 15s")
    context.close()


def test_a_box_that_is_away_is_not_called_live(
    browser: Browser, box: pool.Database, migrated: str, declare: Declare
) -> None:
    """S3: Studio answers, its database does not: no sign of life comes, asking finds an error, no error is drawn."""
    declare(calls=(5, 45 * M))
    relay = Relay(migrated)
    studio = Studio(relay.url)
    studio.start()
    context = browser.new_context(base_url=studio.address)
    page = context.new_page()
    page.clock.install()
    page.goto("/limits/calls/")
    becomes(page, "live")
    relay.cut()
    page.clock.fast_forward(26_000)
    becomes(page, "reconnecting")
    page.clock.fast_forward(31_000)
    becomes(page, "stale")
    expect(page.locator("#busy")).to_contain_text("No busy slots.")
    ask("calls", "meanwhile")
    relay.mend()
    page.clock.fast_forward(16_000)
    becomes(page, "live")
    expect(page.locator("#busy tbody")).to_contain_text("meanwhile")
    context.close()
    studio.stop()
    relay.remove()


def test_screens_come_back_one_after_the_other(browser: Browser, own_studio: Studio, declare: Declare) -> None:
    """S3, case 79: after a deploy no two pages knock in one instant, and none waits for long."""
    declare(calls=(5, 45 * M))
    context = browser.new_context(base_url=own_studio.address)
    pages = [context.new_page() for _ in range(5)]
    for page in pages:
        page.add_init_script(
            "window.tried = []; const Real = WebSocket;"
            " window.WebSocket = class extends Real { constructor(url) { super(url); tried.push(Date.now()); } }"
        )
        page.goto("/limits/")
        becomes(page, "live")
    own_studio.kill()
    own_studio.start()
    for page in pages:
        becomes(page, "live")
    tried = [page.evaluate("tried.at(-1)") for page in pages]
    assert max(tried) - min(tried) >= 100
    context.close()


def test_a_hidden_page_rests_and_catches_up(page: Page, own_studio: Studio) -> None:
    """S3: nobody looks, nothing runs; who looks again sees the box as it is."""
    hide = "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
    hide += " document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(hide, True)
    ask("calls", "unseen")
    page.clock.fast_forward(10 * M)
    assert busy(page) == "0"
    page.evaluate(hide, False)
    becomes(page, "live")
    expect(page.locator("#busy tbody")).to_contain_text("unseen")


def test_back_from_the_browsers_memory_is_live_again(
    playwright: Playwright, own_studio: Studio, declare: Declare
) -> None:
    """S3, check 14, case 81: a page kept by the browser had its socket closed."""
    declare(**{f"limit-{n:02}": (5, 45 * M) for n in range(60)})
    browser = playwright.chromium.launch(ignore_default_args=["--disable-back-forward-cache"], **launch_arguments())
    page = browser.new_page(base_url=own_studio.address, viewport={"width": 1280, "height": 600})
    page.goto("/limits/")
    becomes(page, "live")
    page.evaluate("window.kept = true; scrollTo(0, 500)")
    page.evaluate("document.querySelector('#limit-limit-30 .row-link').click()")
    page.wait_for_url("**/limits/limit-30/")
    becomes(page, "live")
    slot = ask("limit-20")
    page.evaluate("history.back()")
    expect(page.locator("#limit-limit-20 .c-busy")).to_have_text("1 / 5", timeout=2_000)
    becomes(page, "live")
    assert page.evaluate("scrollY") == 500
    assert page.evaluate("window.kept"), "the browser did not keep the page, so nothing is proved"
    engine.release(slot, actor=ANA)
    expect(page.locator("#limit-limit-20 .c-busy")).to_have_text("0 / 5")
    browser.close()


def test_a_storm_of_grants_reaches_a_page_in_drops(page: Page, own_studio: Studio, box: pool.Database) -> None:
    """S3, check 7: at most four messages and two fetches a second, whatever the engine does, and the page stays quick."""
    frames, fetches = [], []
    page.clock.resume()
    page.reload()
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(frame)))
    page.on("request", lambda asked: fetches.append(asked.url) if asked.url.endswith("/live/limits/calls/") else None)
    page.reload()
    becomes(page, "live")
    page.evaluate(
        "window.long = [];"
        " new PerformanceObserver(list => list.getEntries().forEach(e => long.push(e.duration)))"
        ".observe({ type: 'longtask' })"
    )
    frames.clear(), fetches.clear()
    began = page.evaluate("performance.now()")
    grants = 0
    while page.evaluate("performance.now()") - began < 5_000:
        for _ in range(50):
            engine.release(ask("calls"), actor=ANA)
            grants += 1
    seconds = (page.evaluate("performance.now()") - began) / 1_000
    assert grants > 100 * seconds
    assert len(frames) <= 4 * seconds + 2
    assert len(fetches) <= 2 * seconds + 1
    assert frames
    assert fetches
    assert [task for task in page.evaluate("window.long") if task > 100] == []
    ask("calls", "the last")
    expect(page.locator("#busy tbody")).to_contain_text("the last")


def test_a_page_that_stays_open_asks_seldom(page: Page, declare: Declare, clock: Clock) -> None:
    """S2, case 65: thirty days are longer than a browser's timer can count; nothing fires at once, or in a loop."""
    declare(calls=(3, 30 * rules.DAY))
    for _ in range(3):
        ask("calls")
    engine.request("calls", key="waits", timeout=30 * rules.DAY)
    page.reload()
    becomes(page, "live")
    expect(page.locator("#busy .c-left").nth(1)).to_have_text("29d 23h left")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for _ in range(8):
        page.clock.run_for(15_000)
    assert len(asked) <= 2 * 120 / 30 + 2, asked
    expect(page.locator("#busy .c-left").nth(1)).to_have_text("29d 23h left")
    expect(page.locator("#queue .c-timeout").nth(1)).to_have_text("29d 23h left")
    expect(page.locator("#busy")).not_to_contain_text("Taking back")


def test_a_screen_reader_hears_what_a_limit_has_become_and_no_more(page: Page, box: pool.Database) -> None:
    """S4, check 11, case 71: five changes a second and ticking rows, and at most a message per ten seconds."""
    page.evaluate("""
        window.heard = [];
        for (const region of document.querySelectorAll("[aria-live], [role=status], [role=alert]")) {
            new MutationObserver(() => region.textContent && heard.push(region.textContent))
                .observe(region, { childList: true, characterData: true, subtree: true });
        }
    """)
    for _ in range(20):
        slots = [ask("calls") for _ in range(6)]
        page.clock.run_for(500)
        for slot in slots:
            engine.release(slot, actor=ANA)
        page.clock.run_for(500)
    for _ in range(5):
        ask("calls")
    page.clock.run_for(12_000)
    expect(page.locator("#said")).to_have_text("calls: Full")
    heard = page.evaluate("heard")
    assert len(heard) <= 4
    assert all(text.startswith("calls: ") for text in heard)


def test_typing_goes_on_through_changes(page: Page, box: pool.Database) -> None:
    """S2, case 69: ten changes a second move neither caret nor text nor an open menu."""
    field = page.get_by_role("searchbox")
    field.click()
    slots = []
    for letter in "call-17":
        field.press(letter)
        slots.append(ask("calls"))
        engine.release(slots[-1], actor=ANA)
        page.clock.run_for(300)
    field.press("ArrowLeft")
    field.press("x")
    assert field.input_value() == "call-1x7"
    page.locator("summary", has_text="Theme").click()
    ask("calls", "while a menu is open")
    expect(page.locator(".figures")).to_contain_text("Busy1 / 5")
    expect(page.get_by_role("button", name="Dark")).to_be_visible()
    expect(page.locator("#held")).to_be_visible()
    page.locator("summary", has_text="Theme").click()
    expect(page.locator("#busy tbody")).to_contain_text("while a menu is open")
