"""The Limits page."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from limits import engine, pool, queries, rules
from limits.engine import Actor
from studio import listing
from tests.conftest import Clock
from tests.studio.conftest import Ask
from tests.studio.read import text, title
from tests.studio.states import ago, limit

ANA = Actor(name="ana@example.com", source="studio")
M = rules.MINUTE


def names(page: object) -> list[str]:
    return re.findall(r'<tr role="row" id="limit-([^"]*)"', page.content.decode())  # type: ignore[attr-defined]


@pytest.fixture
def busy_box(box: pool.Database, clock: Clock, declare: Callable[..., object], ask: Ask) -> None:
    """Make a box with a full, an over, a paused, an overridden, an open and an idle limit."""
    declare(full=(2, 45 * M), over=(4, 45 * M), paused=(3, 45 * M), open=(8, 45 * M), idle=(50, 90 * M))
    for name, count in {"full": 3, "over": 4, "paused": 1, "open": 1}.items():
        for _ in range(count):
            ask(name)
    engine.edit("over", actor=ANA, capacity=2)
    ask("over")
    engine.pause("paused", actor=ANA)
    clock.advance(12 * M + 4_000)


def test_the_list_shows_every_limit_with_its_numbers(studio: Client, busy_box: None) -> None:
    """S1: busy and capacity, reserved, waiting, max hold, where values come from, and health."""
    page = studio.get("/limits/")
    assert page.status_code == 200
    assert names(page) == ["full", "idle", "open", "over", "paused"]
    said = text(page)
    assert "5 limits · 1 over capacity · 1 paused · 1 full · 2 runs waiting" in said
    assert "full 2 busy of 2 2 / 2 1 12m 04s 45m Full" in said
    assert "over Override 4 busy of 2" in said
    assert "Over by 2" in said
    assert "Paused, 1 finishing" in said
    assert "0 / 50 0 – 1h30m Idle" in said


def test_a_slot_kept_past_its_time_makes_its_limit_overdue(
    studio: Client, declare: Callable[..., object], clock: Clock, ask: Ask
) -> None:
    """S1, F8: after two passes, in the list, its summary and its filter."""
    declare(calls=(2, 45 * M), other=(1, 45 * M))
    ask("calls")
    clock.advance(45 * M + 29_000)
    assert "calls 1 busy of 2 1 / 2 0 – 45m Open" in text(studio.get("/limits/"))
    clock.advance(2_000)
    said = text(studio.get("/limits/"))
    assert "2 limits · 1 overdue · nothing waiting" in said
    assert "calls 1 busy of 2 1 / 2 0 – 45m Overdue" in said
    assert names(studio.get("/limits/", {"show": "overdue"})) == ["calls"]
    assert "A slot is past its max hold. The 15-second pass may be stopped." in text(studio.get("/limits/calls/"))


def test_slots_left_free_turn_from_filling_to_not_handing_out(
    studio: Client, declare: Callable[..., object], clock: Clock, ask: Ask, box: pool.Database
) -> None:
    """S1, F8: thirty seconds beside a waiter are two passes; the next one puts it right."""
    declare(calls=(1, 45 * M))
    ask("calls")
    ask("calls")
    box.fetch("UPDATE limits.limit SET capacity = 2, declared_capacity = 2 RETURNING 1")
    for passed, word in ((28_000, "Filling"), (3_000, "Not handing out")):
        clock.advance(passed)
        assert text(studio.get("/limits/")).split("45m ")[1].startswith(word)
    assert "1 slot has been free for 3" in text(studio.get("/limits/calls/"))
    assert engine.sweep().granted == 1
    assert text(studio.get("/limits/")).split("45m ")[1].startswith("Full")


def test_a_quiet_box_says_that_nothing_waits(studio: Client, declare: Callable[..., object]) -> None:
    """S1: all quiet in one line."""
    declare(a=(1, M), b=(1, M))
    assert "2 limits · nothing waiting" in text(studio.get("/limits/"))


def test_a_box_without_limits_says_how_to_declare_one(studio: Client) -> None:
    """S1: the first thing a newcomer meets."""
    said = text(studio.get("/limits/"))
    assert "No limits yet" in said
    assert "Restart stackbone dev after you add one." in said
    assert "define_workspace" in said


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("?show=waiting", ["full", "over"]),
        ("?show=full", ["full"]),
        ("?show=over", ["over"]),
        ("?show=override", ["over"]),
        ("?show=paused", ["paused"]),
        ("?show=nonsense", ["full", "idle", "open", "over", "paused"]),
        ("?q=P", ["open", "paused"]),
        ("?q=p&show=paused", ["paused"]),
        ("?q=%25", []),
        ("?q=_", []),
        ("?q=%00", []),
        ("?sort=waiting", ["full", "over", "idle", "open", "paused"]),
        ("?sort=-waiting", ["idle", "open", "paused", "full", "over"]),
        ("?sort=busy", ["over", "full", "paused", "open", "idle"]),
        ("?sort=oldest", ["full", "over", "idle", "open", "paused"]),
        ("?sort=state", ["over", "paused", "full", "open", "idle"]),
        ("?sort=-name", ["paused", "over", "open", "idle", "full"]),
        ("?sort=nonsense", ["full", "idle", "open", "over", "paused"]),
    ],
)
def test_search_filter_and_order_are_in_the_address(
    studio: Client, busy_box: None, address: str, shown: list[str]
) -> None:
    """S6: every screen has a URL; case 51: search takes % and _ literally."""
    page = studio.get(f"/limits/{address}")
    assert page.status_code == 200
    assert names(page) == shown


def test_filters_count_what_they_show(studio: Client, busy_box: None) -> None:
    """S1: no two places disagree on a number."""
    said = text(studio.get("/limits/"))
    assert "All 5 Waiting 2 Full 1 Over 1 Paused 1 Override 1" in said
    assert "All 2 Waiting 0 Full 0 Over 0 Paused 1 Override 0" in text(studio.get("/limits/?q=p"))


def test_a_search_that_finds_nothing_says_so_and_offers_a_way_back(studio: Client, busy_box: None) -> None:
    """S1: the empty state names what was looked for."""
    page = studio.get("/limits/?q=voicee&show=over")
    assert "No limit of these matches “voicee”. Clear search" in text(page)
    assert 'href="?show=over"' in page.content.decode()


def test_an_empty_filter_says_so(studio: Client, declare: Callable[..., object]) -> None:
    """S1: an empty filter is a fact about the box."""
    declare(a=(1, M))
    for key, said in {
        "over": "No limit is over capacity.",
        "full": "No limit is full.",
        "waiting": "No run is waiting",
    }.items():
        assert said in text(studio.get(f"/limits/?show={key}"))


def test_markup_in_the_search_is_shown_literally(studio: Client, busy_box: None) -> None:
    """Case 67: the search box with hostile text."""
    page = studio.get("/limits/", {"q": '"><script>alert(1)</script>'})
    assert b"<script>alert" not in page.content
    assert 'matches “"><script>alert(1)</script>”' in text(page)


@pytest.mark.parametrize("path", ["/limits/", "/limits/over/"])
def test_no_control_character_of_the_address_reaches_the_page(studio: Client, busy_box: None, path: str) -> None:
    """Case 67: a raw NUL is no HTML; the search still says what was not found."""
    page = studio.get(path, {"q": "a\0b\x1b\x7f\x9bc", "sort": "\0", "show": "\0", "order": "\0", "page": "\0"})
    assert page.status_code == 200
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", page.content.decode())
    assert "“a\ufffdb\ufffd\ufffd\ufffdc”" in text(page)


def test_trouble_stands_in_the_title(studio: Client, busy_box: None) -> None:
    """S1: a tab in the background tells that something is over."""
    assert title(studio.get("/limits/")) == "▲1 Limits · Studio"


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/limits/", "over"),
        ("/limits/over/", "over"),
        ("/limits/full/", "waiting"),
        ("/limits/open/", "calm"),
        ("/limits/over/edit/", "calm"),
        ("/nowhere/", "calm"),
    ],
)
def test_trouble_shows_in_the_tabs_icon(studio: Client, busy_box: None, path: str, shape: str) -> None:
    """S1: by shape, whatever the browser leaves of the title."""
    assert (
        f'<link rel="icon" type="image/svg+xml" href="/static/icons/{shape}.svg">' in studio.get(path).content.decode()
    )


def test_the_tabs_icon_tells_waiting_from_calm(studio: Client, declare: Callable[..., object], ask: Ask) -> None:
    """S1: what the list as a whole comes to."""
    declare(a=(1, M), b=(1, M))
    ask("a")
    assert 'href="/static/icons/calm.svg"' in studio.get("/limits/").content.decode()
    ask("a")
    assert 'href="/static/icons/waiting.svg"' in studio.get("/limits/").content.decode()


@pytest.mark.parametrize("path", ["/limits/", "/limits/over/", "/limits/over/edit/", "/limits/over/pause/"])
def test_a_printed_page_says_of_which_day_its_numbers_are(studio: Client, busy_box: None, path: str) -> None:
    """S6: paper outlives the day."""
    printed = re.search(r'<p class="printed">(.*?)</p>', studio.get(path).content.decode())
    assert printed is not None
    found = queries.limit("over")
    assert found is not None
    address, _, day = printed[1].partition(" · ")
    assert address == f"http://testserver{path}"
    assert re.fullmatch(rf"Data as of {found.now.day} {found.now:%b %Y}, \d\d:\d\d:\d\d UTC", day)


def test_the_list_costs_two_queries(studio: Client, busy_box: None, statements: list[str]) -> None:
    """S1: one read for all limits, so the numbers of a page are of one moment; one for their last hours."""
    studio.get("/limits/")
    assert len(statements) == 2


def test_many_limits_come_in_pages_and_odd_numbers_lead_to_the_nearest(
    studio: Client, declare: Callable[..., object]
) -> None:
    """Case 51: page numbers of every kind, never a server error."""
    declare(**{f"limit-{n:03}": (1, M) for n in range(200)})
    assert len(names(studio.get("/limits/"))) == 200
    declare(**{f"limit-{n:03}": (1, M) for n in range(240)})
    first = studio.get("/limits/")
    assert len(names(first)) == 100
    assert "1–100 of 240 Next" in text(first)
    for page, start in {"2": 100, "3": 200, "0": 200, "-1": 200, "abc": 0, "9" * 30: 200, "1e9": 0, "": 0}.items():
        assert names(studio.get("/limits/", {"page": page}))[0] == f"limit-{start:03}", page


def test_a_limit_no_longer_declared_is_marked_while_it_has_slots(
    studio: Client, declare: Callable[..., object], ask: Ask
) -> None:
    """D8: visible while it has slots, gone from the list when empty."""
    declare(old=(1, M), new=(1, M))
    held = ask("old")
    declare(new=(1, M))
    assert "old No longer declared" in text(studio.get("/limits/"))
    engine.release(held.id, actor=ANA)
    assert names(studio.get("/limits/")) == ["new"]


def test_ties_keep_the_order_of_names_whichever_way_a_column_runs() -> None:
    """S1: the order is stable."""
    limits = [limit(name=name) for name in "abc"]
    assert [x.name for x in listing.ordered(limits, "waiting")] == ["a", "b", "c"]
    assert [x.name for x in listing.ordered(limits, "-waiting")] == ["a", "b", "c"]


def test_a_paused_limit_that_is_full_belongs_to_both_filters() -> None:
    """S1: filters ask for facts, so that "no limit is full" is true when it is said."""
    both = [limit(2, busy=2, paused=True), limit(5, busy=1, waiting=2, changed_at=ago(minutes=2))]
    shown = {c.filter.key: c.count for c in listing.filter_links(both, listing.FILTERS[0])}
    assert shown == {"": 2, "waiting": 1, "full": 1, "over": 0, "paused": 1, "stuck": 1, "override": 0}
    assert [s.text for s in listing.summary(both)] == [
        "2 limits",
        "1 not handing out",
        "1 paused",
        "1 full",
        "2 runs waiting",
    ]
