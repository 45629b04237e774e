"""An open page follows the box: what others change shows by itself, and nothing moves under a hand."""

import itertools
import re
from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from limits import engine, pool, queries, rules
from tests import scene_runs
from tests.browser.conftest import Open
from tests.conftest import Clock
from tests.scene import ANA
from tests.studio.runs import turn

M = rules.MINUTE

type Declare = Callable[..., object]

_keys = itertools.count()


def ask(limit: str, label: str | None = None) -> str:
    """Ask for a slot and return its id."""
    asked = engine.request(limit, key=f"key-{next(_keys)}", label=label)
    assert asked.slot_id is not None
    return asked.slot_id


def live(page: Page) -> Page:
    """Wait until a page says that it is live."""
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    expect(page.locator("#live .live-text")).to_have_text("Live")
    return page


def test_counts_of_the_list_follow_a_change_from_elsewhere(open_page: Open, declare: Declare) -> None:
    """S2, case 78: PostgreSQL is the bus, whichever process makes the change."""
    declare(calls=(2, 45 * M), other=(1, M))
    page = live(open_page("/limits/"))
    first = ask("calls")
    expect(page.locator("#limit-calls .c-busy")).to_have_text("1 / 2")
    ask("calls")
    ask("calls")
    expect(page.locator("#limit-calls .c-waiting")).to_have_text("1")
    expect(page.locator("#limit-calls .health")).to_have_text("Full")
    expect(page.locator("#summary")).to_have_text("2 limits · 1 full · 1 run waiting")
    expect(page.get_by_role("link", name="Waiting 1")).to_be_visible()
    engine.release(first, actor=ANA)
    expect(page.locator("#limit-calls .c-busy")).to_have_text("1+1 reserved / 2")
    engine.edit("calls", actor=ANA, capacity=1)
    expect(page.locator("#limit-calls .health")).to_have_text("Over by 1")
    expect(page).to_have_title("▲1 Limits · Studio")
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", "/static/icons/over.svg")


def test_a_limits_page_follows_head_slots_and_queue(open_page: Open, declare: Declare) -> None:
    """S2: figures at once, rows right after."""
    declare(calls=(1, 45 * M))
    page = live(open_page("/limits/calls/"))
    first = ask("calls", "first")
    expect(page.locator("#busy tbody")).to_contain_text("first")
    ask("calls", "second")
    expect(page.locator("#queue tbody")).to_contain_text("second")
    expect(page.locator(".figures")).to_contain_text("Waiting1")
    expect(page).to_have_title("(1) calls · Studio")
    engine.release(first, actor=ANA)
    grave = page.locator(f"#slot-{first}")
    expect(grave).to_have_class("tombstone")
    expect(grave).to_contain_text("ana@example.com released it")
    expect(grave).to_have_count(0, timeout=10_000)
    expect(page.locator("#queue")).to_contain_text("No runs are waiting.")


def test_limits_come_and_go_with_a_deploy(open_page: Open, declare: Declare) -> None:
    """S2: what is declared while a page is open stands where its name belongs."""
    declare(a=(1, M), c=(1, M))
    page = live(open_page("/limits/"))
    declare(a=(1, M), b=(2, M))
    expect(page.locator("th.c-name[scope=row]")).to_have_text(["a", "b"])
    ask("b")
    expect(page.locator("#limit-b .c-busy")).to_have_text("1 / 2")


def test_a_filter_shows_who_enters_and_leaves_it(open_page: Open, declare: Declare) -> None:
    """S2: a filtered list stays what its filter says."""
    declare(a=(1, M), b=(1, M))
    page = live(open_page("/limits/?show=full"))
    expect(page.locator("tbody")).to_contain_text("No limit is full.")
    slot = ask("b")
    expect(page.locator("#limit-b")).to_be_visible()
    engine.release(slot, actor=ANA)
    expect(page.locator("tbody")).to_contain_text("No limit is full.")


def test_a_rare_filter_comes_with_what_it_is_for(open_page: Open, declare: Declare) -> None:
    """S1: Paused, Overdue and Not handing out are offered only where they show something."""
    declare(a=(1, M), b=(1, M))
    page = live(open_page("/limits/"))
    engine.pause("a", actor=ANA)
    expect(page.locator("#filter-paused")).to_have_text("Paused 1")
    engine.resume("a", actor=ANA)
    expect(page.locator("#filter-paused", has_text="Paused 1")).to_have_count(0)


def test_a_sorted_list_keeps_its_order_and_offers_to_sort_again(open_page: Open, declare: Declare) -> None:
    """S2: rows never change places by themselves."""
    declare(a=(1, M), b=(1, M))
    ask("a"), ask("a")
    page = live(open_page("/limits/?sort=waiting"))
    names = page.locator("tbody th.c-name")
    expect(names).to_have_text(["a", "b"])
    ask("b"), ask("b"), ask("b")
    expect(page.locator("#limit-b .c-waiting")).to_have_text("2")
    expect(names).to_have_text(["a", "b"])
    again = page.locator("#order")
    expect(again).to_contain_text("Order is from")
    again.get_by_role("link", name="Re-sort").click()
    expect(names).to_have_text(["b", "a"])
    expect(page.locator("#order")).to_be_hidden()


def test_nothing_moves_under_the_pointer(open_page: Open, declare: Declare) -> None:
    """S2: rows that come or move wait while somebody aims at one, and a chip says how many; one that goes stays."""
    declare(calls=(4, 45 * M))
    slots = [ask("calls", f"r{n}") for n in range(3)]
    page = live(open_page("/limits/calls/"))
    aimed = page.locator(f"#slot-{slots[1]}")
    aimed.hover()
    at = aimed.bounding_box()
    engine.release(slots[0], actor=ANA)
    expect(page.locator(f"#slot-{slots[0]}")).to_have_class("tombstone")
    assert aimed.bounding_box() == at
    new = ask("calls", "r3")
    expect(page.locator("#held")).to_have_text("1 change waits Show")
    # Figures go on meanwhile.
    expect(page.locator(".figures")).to_contain_text("Busy3 / 4")
    assert page.locator(f"#slot-{new}").count() == 0
    assert aimed.bounding_box() == at
    page.locator("#held button").click()
    expect(page.locator(f"#slot-{new}")).to_be_visible()
    expect(page.locator("#held")).to_be_hidden()


def test_what_waits_shows_once_nobody_aims(open_page: Open, declare: Declare) -> None:
    """S2: ten seconds of rest on a row are enough, and a pointer that goes away is."""
    declare(calls=(4, 45 * M))
    slot = ask("calls", "r0")
    page = live(open_page("/limits/calls/"))
    page.locator(f"#slot-{slot}").hover()
    new = ask("calls", "r1")
    expect(page.locator("#held")).to_be_visible()
    page.mouse.move(5, 5)
    expect(page.locator(f"#slot-{new}")).to_be_visible()
    page.locator(f"#slot-{slot}").hover()
    last = ask("calls", "r2")
    expect(page.locator("#held")).to_be_visible()
    expect(page.locator(f"#slot-{last}")).to_be_visible(timeout=13_000)


def test_focus_stays_on_its_row_and_goes_to_the_next_when_that_goes(open_page: Open, declare: Declare) -> None:
    """S2, check 4: by id, whatever is drawn anew around it."""
    declare(calls=(4, 45 * M))
    slots = [ask("calls", f"r{n}") for n in range(4)]
    page = live(open_page("/limits/calls/"))
    button = page.locator(f"#release-{slots[1]}")
    button.focus()
    button.evaluate("element => { window.kept = element }")
    engine.release(slots[0], actor=ANA)
    # The focus was set by a script, which draws no ring: a hand at the mouse, so nothing is held back.
    expect(page.locator(f"#slot-{slots[0]}")).to_have_class("tombstone")
    assert page.evaluate("document.activeElement === window.kept")
    engine.release(slots[1], actor=ANA)
    expect(page.locator(f"#release-{slots[2]}")).to_be_focused()


def test_a_text_stays_selected_through_changes(open_page: Open, declare: Declare) -> None:
    """S2, check 4, case 69: a selection holds the rows still."""
    declare(calls=(12, 45 * M))
    slot = ask("calls", "selected")
    page = live(open_page("/limits/calls/"))
    label = page.locator(f"#slot-{slot} .c-label > .label")
    label.evaluate("element => getSelection().selectAllChildren(element)")
    for number in range(10):
        ask("calls", f"more{number}")
        expect(page.locator(".figures")).to_contain_text(f"Busy{number + 2} / 12")
    assert page.evaluate("String(getSelection())") == "selected"
    expect(page.locator("#held")).to_contain_text("changes wait")


def test_pause_holds_all_and_resume_catches_up(open_page: Open, declare: Declare) -> None:
    """S2: the operator holds the page still; it says since when and how much it hides."""
    declare(calls=(3, 45 * M))
    page = live(open_page("/limits/calls/"))
    page.get_by_role("button", name="Pause", exact=True).click()
    ask("calls", "late")
    expect(page.locator("#live .live-text")).to_contain_text("1 change waiting")
    expect(page.locator(".figures")).to_contain_text("Busy0 / 3")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(page.locator("#busy tbody")).to_contain_text("late")
    live(page)


def test_durations_tick_by_the_boxs_clock(open_page: Open, declare: Declare, clock: Clock) -> None:
    """S2, case 70, check 13: a browser's clock that is off changes nothing."""
    declare(calls=(1, 45 * M))
    ask("calls", "held")
    clock.advance(10 * M)
    for skew in (-5 * M, 5 * M, 60 * M):
        page = open_page("/limits/calls/", before=f"{{ const now = Date.now; Date.now = () => now() + {skew}; }}")
        live(page)
        expect(page.locator("td.c-held .tick")).to_have_text(re.compile("^10m [0-9]{2}s$"))
        before = page.locator("td.c-held .tick").inner_text()
        expect(page.locator("td.c-held .tick")).not_to_have_text(before)


def test_what_time_alone_changes_shows(open_page: Open, declare: Declare, clock: Clock, box: pool.Database) -> None:
    """S4: no revision moves when a slot becomes overdue."""
    declare(calls=(1, M))
    ask("calls", "kept")
    page = live(open_page("/limits/calls/"))
    clock.advance(2 * M)
    expect(page.locator("#head")).to_contain_text("A slot is past its max hold", timeout=15_000)


@pytest.mark.parametrize("path", ["/limits/", "/limits/calls/"])
def test_a_dropped_message_is_made_good_by_the_next_tick(open_page: Open, declare: Declare, path: str) -> None:
    """S3, check 8: every second message is lost on purpose; ticks count along."""
    declare(calls=(100, 45 * M))
    page = open_page(
        path,
        before="""
        const Real = WebSocket;
        window.WebSocket = class extends Real {
            addEventListener(kind, listener) {
                let number = 0;
                super.addEventListener(kind, kind !== "message" ? listener : (event) => {
                    if (JSON.parse(event.data).type !== "changed" || number++ % 2) listener(event);
                });
            }
        };
    """,
    )
    live(page)
    ask("calls")
    figure = page.locator("#limit-calls .c-busy b" if path == "/limits/" else ".figures dd b").first
    expect(figure).to_have_text("1", timeout=12_000)


def test_a_runs_page_follows_its_steps_and_its_place_in_the_queue(
    open_page: Open, with_runs: dict[str, str], box: pool.Database
) -> None:
    """S3: why it waits, live; and its end."""
    page = live(open_page(f"/runs/{scene_runs.WAITING}/"))
    expect(page.locator("#steps")).to_contain_text("Position 9 in the queue of voice-calls")
    first = queries.slots("voice-calls", state="waiting").items[0]
    engine.withdraw(first.id, actor=ANA)
    expect(page.locator("#steps")).to_contain_text("Position 8 in the queue of voice-calls")
    page = live(open_page("/runs/"))
    expect(page.locator("#runs")).to_contain_text(scene_runs.WAITING)
    turn(box, scene_runs.WAITING, "CANCELLED")
    row = page.locator(f"#run-{scene_runs.WAITING}")
    expect(row.locator(".c-status")).to_have_text("Cancelled", timeout=10_000)


def test_instants_show_in_the_readers_zone_and_in_utc(open_page: Open, declare: Declare, box: pool.Database) -> None:
    """S2, case 70: which zone it is stands at the foot; both are in the tooltip; the choice is kept."""
    declare(calls=(1, 45 * M))
    ask("calls"), ask("calls")
    page = live(open_page("/limits/calls/", zone="Pacific/Auckland"))
    foot = page.locator("#zone")
    expect(foot).to_have_text("Times in Pacific/Auckland · show UTC")
    starts = page.locator("#queue .c-starts time")
    at = datetime.fromisoformat(starts.get_attribute("datetime") or "")
    there, utc = at.astimezone(ZoneInfo("Pacific/Auckland")), at.astimezone(UTC)
    expect(starts).to_contain_text(f"{there:%H:%M}")
    expect(starts).to_have_attribute("title", re.compile(f"{there:%H:%M:%S} .* · .* {utc:%H:%M:%S} UTC$"))
    engine.edit("calls", actor=ANA, max_hold=50 * M)
    expect(page.locator(".provenance")).to_contain_text("50m")
    expect(starts).to_contain_text(f"{there:%H:%M}")
    foot.get_by_role("button", name="show UTC").click()
    expect(foot).to_have_text("Times in UTC · show local time")
    expect(starts).to_contain_text(f"{utc:%H:%M}")
    page.reload()
    expect(foot).to_have_text("Times in UTC · show local time")
