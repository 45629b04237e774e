"""Resets: the value follows the config again."""

from collections.abc import Callable

from django.test import Client

from limits import engine, queries, rules
from limits.engine import Actor, Declared
from limits.queries import LimitState
from tests.studio.conftest import Ask
from tests.studio.read import fields, followed, text

BEN = Actor(name="ben@example.com", source="cli")
M = rules.MINUTE

type Declare = Callable[..., object]


def calls() -> LimitState:
    state = queries.limit("calls")
    assert state is not None
    return state


def test_a_reset_ends_the_override_and_grants(studio: Client, declare: Declare, ask: Ask) -> None:
    """O1, F4: the value follows the config again; what becomes free is granted."""
    declare(calls=(2, 45 * M))
    engine.edit("calls", actor=BEN, capacity=1)
    for _ in range(3):
        ask("calls")
    done = studio.post("/limits/calls/reset/capacity/", {"expected": "1"})
    assert "Capacity follows the config again: 2. 1 run started." in followed(done, studio)
    assert calls().capacity.override is None
    engine.edit("calls", actor=BEN, max_hold=60 * M)
    done = studio.post("/limits/calls/reset/max-hold/", {"expected": str(60 * M), "reason": "done"})
    assert "Max hold follows the config again: 45m." in followed(done, studio)
    assert queries.changes(limit="calls").items[0].reason == "done"


def test_a_reset_without_an_override_says_so(studio: Client, declare: Declare) -> None:
    """O5: nothing changes."""
    declare(calls=(2, 45 * M))
    page = studio.get("/limits/calls/reset/capacity/")
    assert "Capacity has no override It follows the config: 2." in text(page)
    done = studio.post("/limits/calls/reset/capacity/")
    assert "Capacity has no override; it follows the config: 2." in followed(done, studio)


def test_a_reset_that_lowers_below_what_is_held_is_asked_about_once(studio: Client, declare: Declare, ask: Ask) -> None:
    """O2: the same preview as for an edit."""
    declare(calls=(1, 45 * M))
    engine.edit("calls", actor=BEN, capacity=3)
    for _ in range(3):
        ask("calls")
    asked = studio.post("/limits/calls/reset/capacity/", {"expected": "3"})
    assert asked.status_code == 422
    assert "3 to 1. Nothing is taken back. 3 busy slots must finish before the next run starts" in text(asked)
    assert calls().capacity.override == 3
    assert studio.post("/limits/calls/reset/capacity/", fields(asked)).status_code == 303
    assert calls().capacity.override is None


def test_a_reset_of_a_value_that_changed_meanwhile_is_refused(studio: Client, declare: Declare) -> None:
    """O7: by the value each saw."""
    declare(calls=(20, 45 * M))
    engine.edit("calls", actor=BEN, capacity=30)
    seen = fields(studio.get("/limits/calls/reset/capacity/"))
    engine.edit("calls", actor=BEN, capacity=25)
    page = studio.post("/limits/calls/reset/capacity/", seen)
    assert page.status_code == 409
    assert "the capacity is 25 now. Nothing was reset." in text(page)
    assert 'tabindex="-1" autofocus>This limit changed' in page.content.decode()
    assert page.content.decode().count("autofocus") == 1
    assert calls().capacity.override == 25


def test_an_override_of_a_limit_no_longer_declared_can_be_reset(studio: Client, declare: Declare, ask: Ask) -> None:
    """D8: its override is kept, unless somebody ends it."""
    declare(calls=(2, 45 * M), other=(1, M))
    engine.edit("calls", actor=BEN, capacity=3)
    ask("calls")
    engine.declare("tests", {"other": Declared(capacity=1, max_hold=M)})
    assert studio.post("/limits/calls/reset/capacity/", {"expected": "3"}).status_code == 303
    assert calls().capacity.override is None
