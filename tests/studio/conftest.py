"""What tests of Studio's pages ask for."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from limits import engine, pool, queries, rules
from limits.queries import SlotRow

type Ask = Callable[..., SlotRow]


@pytest.fixture
def studio(box: pool.Database) -> Client:
    """Lend a browser without JavaScript in front of Studio, which works on the empty box."""
    return Client()


@pytest.fixture
def ask(box: pool.Database) -> Ask:
    """Lend `ask("calls", "label")`, which asks for a slot and returns it as it then stands."""
    number = iter(range(10**6))

    def ask(limit: str, label: str | None = None, *, timeout: int = rules.DAY, run: str | None = None) -> SlotRow:
        asked = engine.request(
            limit,
            key=f"key-{next(number)}",
            label=label,
            timeout=timeout,
            run_id=run,
            workflow="place-call" if run else None,
        )
        assert asked.slot_id is not None
        slot = queries.slot(asked.slot_id)
        assert slot is not None
        return slot

    return ask


@pytest.fixture
def statements(box: pool.Database, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lend the list of statements that go to the box from now on."""
    sent: list[str] = []
    fetch = box.fetch

    def counted(sql: Any, parameters: Any = ()) -> Any:
        sent.append(sql)
        return fetch(sql, parameters)

    monkeypatch.setattr(box, "fetch", counted)
    return sent
