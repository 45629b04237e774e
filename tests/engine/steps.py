"""What one does with slots, in the words of the tests."""

import itertools
from typing import Any, Final

from limits import engine, pool, queries, rules

OPERATOR: Final = engine.Actor(name="ana", source="studio")
CLIENT: Final = engine.Actor(name="program", source="client")

_keys = itertools.count()


def ask(limit: str, *, timeout: int = rules.DAY, **more: Any) -> engine.Asked:
    """Ask for a slot under a key of its own, unless `key` is given."""
    return engine.request(limit, key=more.pop("key", f"call-{next(_keys)}"), timeout=timeout, **more)


def hold(limit: str, **more: Any) -> str:
    """Take a free slot and return its id."""
    asked = ask(limit, **more)
    assert asked.state == "busy", asked
    return str(asked.slot_id)


def wait(limit: str, **more: Any) -> str:
    """Queue, and return the slot's id."""
    asked = ask(limit, **more)
    assert asked.state == "waiting", asked
    return str(asked.slot_id)


def release(slot_id: str, **more: Any) -> engine.Released:
    """Give a slot back as a program does."""
    return engine.release(slot_id, actor=CLIENT, **more)


def confirm(slot_id: str) -> str:
    """Confirm, and return how the slot stands."""
    return engine.confirm(slot_id).state


def state(slot_id: str) -> str:
    """Return a slot's state as its row says, settling nothing."""
    return row(slot_id).state


def row(slot_id: str) -> queries.SlotRow:
    """Return a slot's row."""
    slot = queries.slot(slot_id)
    assert slot is not None
    return slot


def ids(limit: str, state: str) -> list[str]:
    """Return the ids of a limit's slots in one state, in the order of the screens, over all pages."""
    found: list[str] = []
    after = None
    while True:
        page = queries.slots(limit, state=state, after=after)
        found += [slot.id for slot in page.items]
        if page.next is None:
            return found
        after = page.next


def counts(limit: str) -> tuple[int, int, int]:
    """Return how many are busy, reserved and waiting."""
    found = queries.limit(limit)
    assert found is not None
    return found.busy, found.reserved, found.waiting


def everything(box: pool.Database) -> dict[str, list[dict[str, Any]]]:
    """Return all that the box holds, to see that nothing changed."""
    return {
        "limits": box.fetch("SELECT * FROM limits.limit ORDER BY id"),
        "overrides": box.fetch("SELECT * FROM limits.override ORDER BY id"),
        "slots": box.fetch("SELECT * FROM limits.slot ORDER BY id"),
        "changes": box.fetch("SELECT * FROM limits.change ORDER BY id"),
        "box": box.fetch("SELECT workspace FROM limits.box"),
    }
