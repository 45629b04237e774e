"""The history of a limit's page, and the last hour in the list."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from limits import engine, rules
from limits.engine import Actor
from limits.queries import RANGES, History
from studio import history as said
from tests.conftest import Clock
from tests.studio import points
from tests.studio.conftest import Ask
from tests.studio.read import text

ANA = Actor(name="ana@example.com", source="studio")
M = rules.MINUTE


def part(page: Any) -> str:
    """Return the markup of the history."""
    found = re.search(r'<section class="section history".*?</section>', page.content.decode(), flags=re.DOTALL)
    assert found is not None
    return found[0]


def tell(history: History) -> said.Section:
    """Return what is said of a history made by hand."""
    return said.told(history, history.range, history.now)


@pytest.fixture
def an_hour(declare: Callable[..., object], ask: Ask, clock: Clock) -> None:
    """Make three quarters of an hour of traffic on the limit `calls`, written down."""
    declare(calls=(2, 20 * M), quiet=(3, M))
    clock.advance(M)
    first = ask("calls")
    clock.advance(10 * M)
    for _ in range(4):
        ask("calls")
    clock.advance(5 * M)
    engine.release(first.id, actor=ANA)
    engine.edit("calls", actor=ANA, capacity=1)
    clock.advance(30 * M)
    engine.sweep()
    clock.advance(M)
    engine.roll_up()


def test_the_page_tells_its_last_hour(studio: Client, an_hour: None) -> None:
    """The highest, three numbers, the kinds of marks in words, and a table with a row for each point."""
    section = part(studio.get("/limits/calls/"))
    words = text(section)
    assert re.search(r"Busy reached 2 of 2 at \d\d:\d\d UTC\. Waiting peaked at 3 at \d\d:\d\d UTC\.", words)
    assert "Peak waiting 3 Longest wait 36m Taken back at max hold 1" in words
    assert "Capacity changed" in words
    assert "Released by hand" in words
    assert "One point per minute, the highest value of each." in words
    assert section.count("data-point=") >= 45
    assert re.search(r"\d\d:\d\d UTC 2 0 3 2 ", words)
    assert "1 slot released by hand" in words
    assert re.search(r"The history begins at \d\d:\d\d UTC\.", words)


@pytest.mark.parametrize("key", RANGES)
def test_ranges_are_links_that_keep_the_rest_of_the_address(studio: Client, an_hour: None, key: str) -> None:
    """S6: every range has an address, beside the search and the order of the lists."""
    page = studio.get(f"/limits/calls/?order=expiry&range={key}")
    links = re.findall(r'<a id="range-(\w+)" href="([^"]*)"([^>]*)>', part(page))
    assert [name for name, _, _ in links] == list(RANGES)
    assert [name for name, _, current in links if "aria-current" in current] == [key]
    assert {href for _, href, _ in links} == {f"?order=expiry&amp;range={name}#history" for name in RANGES}
    for _, href, _ in links:
        assert studio.get("/limits/calls/" + href.replace("&amp;", "&")).status_code == 200
    assert ('name="range"' in page.content.decode()) == (key != "1h")


@pytest.mark.parametrize("asked", ["", "2h", "1H", "\0", "7d ", "'", "9" * 300])
def test_an_odd_range_is_the_last_hour_or_what_it_trims_to(studio: Client, an_hour: None, asked: str) -> None:
    """Case 51: whatever the address says, never a server error."""
    page = studio.get("/limits/calls/", {"range": asked})
    assert page.status_code == 200
    chosen = "7d" if asked == "7d " else "1h"
    assert f'id="range-{chosen}" href="?range={chosen}#history" aria-current="true"' in part(page)


def test_a_limit_without_history_says_when_there_will_be_some(
    studio: Client, declare: Callable[..., object], ask: Ask
) -> None:
    """Nothing yet, and nothing that looks like zero."""
    declare(calls=(2, M))
    for _ in range(2):
        section = part(studio.get("/limits/calls/"))
        assert "No history yet. Points appear a minute after first use." in text(section)
        assert "<svg" not in section
        ask("calls")


def test_stretches_without_data_are_one_row_and_one_sentence() -> None:
    """What nobody wrote down is said as such, where it begins and ends."""
    made: list[dict[str, Any] | None] = [None] * 10 + [{"busy": 2}] * 30 + [None] * 19 + [{"busy": 3}]
    begins, stopped = (points.STARTS + RANGES["1h"].step * number for number in (10, 40))
    section = tell(points.history(made, begins=begins, stopped=stopped))
    assert section.notes == [
        "The history begins at 13:43 UTC.",
        "No data from 14:13 UTC to 14:32 UTC: the 15-second pass has not written it down yet.",
    ]
    blank = [(row.number, f"{row.at:%H:%M}", f"{row.until:%H:%M}") for row in section.rows if row.point is None]
    assert blank == [(40, "14:13", "14:32"), (0, "13:33", "13:43")]
    assert len(section.rows) == 33
    assert section.rows[0].number == 59


def test_what_happened_is_said_with_its_number() -> None:
    """One or many, in the table and where a point is read."""
    once = {"edits": 1, "pauses": 1, "resumes": 1, "by_hand": 1, "expired": 1}
    rows = tell(points.history([once, dict.fromkeys(once, 1200), {"busy": 1}])).rows
    assert rows[2].events == [
        "Capacity changed",
        "Paused",
        "Resumed",
        "1 slot released by hand",
        "1 slot taken back at max hold",
    ]
    assert rows[1].events == [
        "Capacity changed 1,200 times",
        "Paused 1,200 times",
        "Resumed 1,200 times",
        "1,200 slots released by hand",
        "1,200 slots taken back at max hold",
    ]
    assert rows[0].said == "13:35 UTC: 1 busy, 0 reserved, 0 waiting; capacity 20."
    assert rows[2].said.endswith(
        "capacity 20. Capacity changed. Paused. Resumed. 1 slot released by hand. 1 slot taken back at max hold."
    )


@pytest.mark.parametrize(
    ("point", "sentence"),
    [
        ({}, "No slot was busy. Nobody waited."),
        ({"busy": 20, "waiting": 9}, "Busy reached 20 of 20 at 13:34 UTC. Waiting peaked at 9 at 13:34 UTC."),
        ({"busy": 7, "capacity": 5}, "Busy reached 7 of 5 at 13:34 UTC. Nobody waited."),
        ({"waiting": 3}, "No slot was busy. Waiting peaked at 3 at 13:34 UTC."),
    ],
)
def test_the_drawing_is_described_in_a_sentence(point: dict[str, int], sentence: str) -> None:
    """S6: what a screen reader, and whoever glances, hears first."""
    assert tell(points.history([{}, point, {}])).description == sentence


def test_the_list_shows_the_last_hour_of_each_limit(studio: Client, an_hour: None) -> None:
    """S1: drawn, and said for who does not see it; a limit without history shows none."""
    rows = re.findall(r'<tr role="row" id="limit-.*?</tr>', studio.get("/limits/").content.decode(), flags=re.DOTALL)
    calls, quiet = rows
    assert '<svg class="spark"' in calls
    assert "at most 2 held" in text(calls)
    assert "spark" not in re.sub('class="c-spark"', "", quiet)


def test_an_open_page_fetches_the_section_as_the_page_has_it(studio: Client, an_hour: None) -> None:
    """One rendering for the whole page and for its part, on an address of its own."""
    page = studio.get("/limits/calls/?range=6h")
    section = re.search(r'data-fragment="([^"]*/history/)"', part(page))
    assert section is not None
    alone = studio.get(section[1] + "?range=6h")
    assert "no-store" in alone["Cache-Control"]
    assert alone.content.decode().strip() == part(page)
    assert studio.get("/live/limits/nothing/history/").status_code == 404
