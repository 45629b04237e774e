"""What a screen costs does not depend on how many limits and slots there are."""

import gzip
import http.client
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.test import Client

from limits import engine, pool
from limits.pool import Database
from limits.rules import HOUR
from tests import studio_process
from tests.cost.conftest import WAITING, Boxes
from tests.studio.conftest import statements

BAR = 3
BYTES_MAX = 200_000
ROUNDS = 12

__all__ = ["statements"]

type Look = Callable[[str], bytes]


@contextmanager
def looking(database_url: str) -> Iterator[Look]:
    """Lend a browser of little wit in front of Studio in a process of its own."""
    with studio_process.running(database_url) as address:
        way = http.client.HTTPConnection(address.removeprefix("http://"))

        def look(path: str) -> bytes:
            way.request("GET", path, headers={"Accept-Encoding": "gzip"})
            answer = way.getresponse()
            page = answer.read()
            assert answer.status == 200
            assert len(page) < BYTES_MAX
            return page

        yield look
        way.close()


def ratio(look: Look, crowded: str, bare: str) -> float:
    """Return the least time of one page over that of the other, taken turn by turn."""
    seen: dict[str, list[float]] = {crowded: [], bare: []}
    for _ in range(ROUNDS):
        for path, times in seen.items():
            begun = time.perf_counter()
            look(path)
            times.append(time.perf_counter() - begun)
    return min(seen[crowded]) / min(seen[bare])


def rows(page: bytes) -> int:
    return gzip.decompress(page).count(b'<tr role="row" id="')


def test_a_limit_with_a_page_of_everything_costs_little_more_than_an_empty_one(boxes: Boxes) -> None:
    """S2: a hundred busy and a hundred waiting slots on the page, out of a million, at three times the empty page."""
    with looking(boxes.loaded.url) as look:
        assert (rows(look("/limits/both/")), rows(look("/limits/brief/"))) == (200, 0)
        assert ratio(look, "/limits/both/", "/limits/brief/") <= BAR
        assert ratio(look, "/limits/queue/", "/limits/brief/") <= BAR
        last = look(f"/limits/queue/?queue={WAITING - 9}")
        assert rows(last) <= 1 + 100


def test_a_thousand_limits_cost_little_more_than_a_hundred(declare: Callable[..., object], box: pool.Database) -> None:
    """S1: a hundred rows either way, at three times the time at most."""
    spent, pages = {}, {}
    with looking(box.url) as look:
        for count in (100, 1_000):
            declare(**{f"limit-{number:04}": (20, HOUR) for number in range(count)})
            pages[count] = look("/limits/")
            times = []
            for _ in range(ROUNDS):
                begun = time.perf_counter()
                look("/limits/")
                times.append(time.perf_counter() - begun)
            spent[count] = min(times)
    assert [rows(page) for page in pages.values()] == [100, 100]
    assert spent[1_000] <= BAR * spent[100]


@pytest.mark.parametrize("path", ["/limits/", "/limits/?sort=busy", "/limits/?page=2", "/limits/?q=limit-0"])
def test_the_list_asks_as_often_for_a_thousand_limits_as_for_ten(
    declare: Callable[..., object], box: pool.Database, statements: list[str], path: str
) -> None:
    """S1: the number of statements is the page's, not the box's."""
    asked = []
    for count in (10, 1_000):
        declare(**{f"limit-{number:04}": (20, HOUR) for number in range(count)})
        for number in range(0, count, 4):
            engine.edit(f"limit-{number:04}", actor=engine.Actor(name="ana", source="studio"), capacity=7)
        statements.clear()
        assert Client(headers={"host": "127.0.0.1"}).get(path).status_code == 200
        asked.append(len(statements))
    assert asked[0] == asked[1]


def scans(db: Database) -> int:
    db.fetch("SELECT pg_stat_force_next_flush()")
    # The tables of one row, like the clock's, are no matter of size.
    row = db.fetch(
        "SELECT sum(seq_scan)::bigint AS scans FROM pg_stat_user_tables"
        " WHERE schemaname = 'limits' AND relname IN ('limit', 'override', 'slot', 'change')"
    )[0]
    return int(row["scans"])


@pytest.mark.parametrize(
    "path",
    [
        "/limits/",
        "/limits/held/",
        "/limits/held/?order=expiry",
        "/limits/held/?busy=50000",
        "/limits/held/?q=call-",
        "/limits/queue/",
        "/limits/queue/?queue=999900",
        "/limits/queue/?q=run-77777",
        "/limits/queue/?q=nobody",
    ],
)
def test_no_screen_reads_a_table_from_end_to_end(boxes: Boxes, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """S1, S2: every statement of every page goes by an index, first pages, later ones and searches alike."""
    monkeypatch.setattr(pool, "_default", boxes.loaded)
    browser = Client(headers={"host": "127.0.0.1"})
    browser.get(path)
    before = scans(boxes.loaded)
    assert browser.get(path).status_code == 200
    assert scans(boxes.loaded) == before
