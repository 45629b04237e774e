"""The ground the other tests stand on."""

from collections.abc import Callable

import psycopg
import pytest
from playwright.sync_api import Page, expect

from limits import engine, pool
from limits.models import Limit
from tests.conftest import Clock
from tests.postgres import Server


def test_the_server_is_postgresql_18_with_quick_deadlock_detection(
    server: Server,
) -> None:
    with psycopg.connect(server.url("postgres")) as connection:
        assert connection.info.server_version // 10_000 == 18
        assert connection.execute("SHOW deadlock_timeout").fetchone() == ("100ms",)
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
    assert server.log.exists()


def test_a_box_is_empty_and_its_name_marks_it_as_a_test(box: pool.Database) -> None:
    assert box.fetch("SELECT count(*) FROM limits.slot") == [{"count": 0}]
    [row] = box.fetch("SELECT current_database() AS name")
    assert row["name"].startswith("test_")


def test_the_clock_moves_by_what_it_is_told(box: pool.Database, clock: Clock) -> None:
    clock.advance(60_000)
    clock.advance(1_000)
    assert box.fetch("SELECT shift FROM limits.clock_shift") == [{"shift": 61_000}]


@pytest.mark.parametrize("time", ["first", "second"])
def test_no_slot_of_one_test_is_left_in_the_next(declare: Callable[..., engine.Synced], time: str) -> None:
    assert declare(calls=(1, 60_000)).added == ["calls"]
    assert engine.request("calls", key="the same").state == "busy"
    assert engine.check() == []


def test_the_browser_is_there(page: Page) -> None:
    page.set_content("<h1>Limits</h1>")
    expect(page.get_by_role("heading")).to_have_text("Limits")


def test_django_may_use_the_box_beside_an_open_page(page: Page, box: pool.Database) -> None:
    page.set_content("<p>open</p>")
    assert Limit.objects.count() == 0
