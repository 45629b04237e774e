"""Runs at the engine: whose a slot is when a call is executed again, and what a runtime reports."""

import uuid
from collections.abc import Callable

from limits import engine, queries
from limits.pool import Database

ACTOR = engine.Actor(name="test", source="workflow")


def ask(asker: uuid.UUID, key: str = "run/1") -> engine.Asked:
    """Ask as a run whose runtime nobody can ask: it counts as alive."""
    return engine.request("calls", key=key, run_id="run", workflow="w", runtime="unregistered", asker=asker)


def test_a_later_execution_of_a_call_takes_its_slot_from_the_former(
    box: Database, declare: Callable[..., engine.Synced]
) -> None:
    """A5, Q7: taken over by another worker, it is not given back by what the former one still does."""
    declare(calls=(1, 60_000))
    former, later = uuid.uuid4(), uuid.uuid4()
    held = ask(former)
    assert ask(later).slot_id == held.slot_id
    assert engine.abandon("calls", "run/1", asker=former, actor=ACTOR) is None
    assert engine.abandon("calls", "run/1", asker=later, actor=ACTOR) == "busy"
    assert engine.check() == []


def test_what_a_run_holds_of_a_limit_is_counted(box: Database, declare: Callable[..., engine.Synced]) -> None:
    """A8: busy slots alone, of that run alone."""
    declare(calls=(2, 60_000))
    ask(uuid.uuid4(), "run/1")
    engine.request("calls", key="other", run_id="other")
    ask(uuid.uuid4(), "run/2")
    assert queries.held_by_run("calls", "run") == 1
    assert queries.held_by_run("calls", "nobody") == 0
