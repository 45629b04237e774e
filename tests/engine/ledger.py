"""What really happened: a trigger notes every change of a slot, in order, and the checks read it afterwards.

A limit's changes are numbered while its lock is held, so their order is that of the commits.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from limits import pool

_LEDGER: Final = """
    CREATE TABLE public.ledger (
        n bigserial PRIMARY KEY, tx xid8 NOT NULL, limit_id integer NOT NULL, slot uuid NOT NULL,
        state text NOT NULL, number bigint NOT NULL
    );
    CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO public.ledger (tx, limit_id, slot, state, number)
        VALUES (pg_current_xact_id(), NEW.limit_id, NEW.id, NEW.state, NEW.number);
        RETURN NULL;
    END $$;
    CREATE TRIGGER note AFTER INSERT OR UPDATE ON limits.slot FOR EACH ROW EXECUTE FUNCTION public.note();
"""

_MAY_FOLLOW: Final = {
    None: {"busy", "waiting"},
    "waiting": {"waiting", "reserved", "timed_out", "withdrawn"},
    "reserved": {"reserved", "busy", "waiting", "timed_out", "withdrawn"},
    "busy": {"released", "expired"},
}


@contextmanager
def kept(box: pool.Database) -> Iterator[None]:
    """Keep the ledger inside."""
    with box.connection() as connection:
        connection.execute(_LEDGER)
    yield
    with box.connection() as connection:
        connection.execute("DROP TRIGGER note ON limits.slot; DROP FUNCTION public.note; DROP TABLE public.ledger")


def faults(box: pool.Database, limit: str) -> list[str]:
    """Return what went against the rules on a limit whose capacity was always the same."""
    [found] = box.fetch("SELECT id, capacity, busy, reserved, waiting FROM limits.limit WHERE name = %s", [limit])
    entries = box.fetch(
        "SELECT n, tx::text, slot::text, state, number FROM public.ledger WHERE limit_id = %s ORDER BY n", [found["id"]]
    )
    rows = box.fetch(
        "SELECT id::text, state, number, granted_at, ended_at FROM limits.slot WHERE limit_id = %s", [found["id"]]
    )
    replay = _Replay(found["capacity"])
    for entry in entries:
        replay.follow(entry)
    replay.end_transaction()
    seen = [*replay.faults, *_faults_of_rows(rows, found["capacity"])]
    if replay.states != {row["id"]: row["state"] for row in rows}:
        seen.append("the rows are not what the ledger says")
    live = Counter(row["state"] for row in rows)
    for state in ("busy", "reserved", "waiting"):
        if live[state] != found[state]:
            seen.append(f"{live[state]} are {state}, the limit says {found[state]}")
    return seen


class _Replay:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.states: dict[str, str] = {}
        self.held: set[str] = set()
        self.waiting: dict[str, int] = {}
        self.faults: list[str] = []
        self._tx = ""

    def follow(self, entry: dict[str, Any]) -> None:
        if entry["tx"] != self._tx:
            self.end_transaction()
            self._tx = entry["tx"]
        slot, state, number = entry["slot"], entry["state"], entry["number"]
        before = self.states.get(slot)
        if state not in _MAY_FOLLOW.get(before, set()):
            self.faults.append(f"entry {entry['n']}: {state} after {before}")
        self._check_turn(entry["n"], before, state, number)
        self.states[slot] = state
        self.waiting.pop(slot, None)
        self.held.discard(slot)
        if state == "waiting":
            self.waiting[slot] = number
        elif state in ("reserved", "busy"):
            self.held.add(slot)
        if len(self.held) > self.capacity:
            self.faults.append(f"entry {entry['n']}: {len(self.held)} held of {self.capacity}")

    def _check_turn(self, entry: int, before: str | None, state: str, number: int) -> None:
        if before is None and state == "busy" and self.waiting:
            self.faults.append(f"entry {entry}: a newcomer overtook {len(self.waiting)}")
        if before == "waiting" and state == "reserved" and number > min(self.waiting.values()):
            self.faults.append(f"entry {entry}: number {number} was granted before {min(self.waiting.values())}")

    def end_transaction(self) -> None:
        if self.waiting and len(self.held) < self.capacity:
            self.faults.append(f"after transaction {self._tx}: a slot is free beside {len(self.waiting)} waiters")


def _faults_of_rows(rows: list[dict[str, Any]], capacity: int) -> list[str]:
    """Check the same from what the rows still tell: who held when, and in which order."""
    granted = [row for row in rows if row["granted_at"] is not None]
    moments = sorted(
        [(row["granted_at"], 1) for row in granted] + [(row["ended_at"], -1) for row in granted if row["ended_at"]]
    )
    held, seen = 0, []
    for at, step in moments:
        held += step
        if held > capacity:
            seen.append(f"at {at}: {held} held of {capacity}")
    numbers = [row["number"] for row in sorted(granted, key=lambda row: (row["granted_at"], row["number"]))]
    if numbers != sorted(numbers):
        seen.append("the order of the grants is not that of the queue numbers")
    return seen
