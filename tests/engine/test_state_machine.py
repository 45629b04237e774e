"""Any operations in any order: the engine agrees with the model, and with itself, after each of them.

`STACKBONE_LONG_PROOFS=1` makes it the long form.
"""

import os
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from limits import engine, pool, queries
from limits.errors import ChangedMeanwhileError, UnknownLimitError
from limits.rules import HOUR, MINUTE
from tests.conftest import Clock
from tests.engine.model import HELD, Limit, Model, Slot
from tests.engine.steps import CLIENT, OPERATOR

LONG: Final = bool(os.environ.get("STACKBONE_LONG_PROOFS"))

NAMES: Final = st.sampled_from(["a", "b", "c"])
KEYS: Final = st.sampled_from([f"key-{n}" for n in range(6)])
HOLDS: Final = st.sampled_from([30 * MINUTE, 10 * MINUTE, HOUR, 3 * MINUTE, MINUTE])
PICK: Final = st.integers(0, 15)
SETTINGS: Final = st.tuples(st.integers(1, 4), HOLDS)

type Row = dict[str, Any]


class Box(RuleBasedStateMachine):
    """The engine beside the model. Each rule says in `touched` which limit it was about."""

    database: pool.Database

    def __init__(self) -> None:
        super().__init__()
        _empty(self.database)
        self.clock = Clock(self.database)
        self.model = Model()
        self.rows: dict[str, Row] = {}
        self.calls = 0
        self.touched = "a"

    @initialize(c=st.booleans())
    def begin(self, c: bool) -> None:
        wanted = {"a": (1, 30 * MINUTE), "b": (2, HOUR)} | ({"c": (3, 3 * MINUTE)} if c else {})
        self.sync(wanted)

    def of(self, name: str) -> Limit:
        self.touched = name if name in self.model.limits else "a"
        self.model.order += 1
        return self.model.limits[self.touched]

    def pick(self, name: str, number: int) -> tuple[Limit, Slot] | None:
        """One of a limit's slots: a live one, or now and then one of the latest, which may have ended."""
        limit = self.of(name)
        slots = [slot for slot in limit.slots if slot.live] if number % 4 else limit.slots[-8:]
        return (limit, slots[number // 4 % len(slots)]) if slots else None

    def ask(self, name: str, key: str, timeout: int) -> None:
        limit = self.of(name)
        expected = self.model.request(self.touched, key, timeout)
        if expected == "undeclared":
            with pytest.raises(UnknownLimitError):
                engine.request(self.touched, key=key, timeout=timeout)
            return
        asked = engine.request(self.touched, key=key, timeout=timeout)
        assert asked.state == expected
        slot = limit.find(key)
        assert (asked.slot_id is None) == (slot is None)
        if slot is not None and not slot.id:
            slot.id = str(asked.slot_id)
            if expected == "waiting":
                assert asked.position == len(limit.of("waiting"))
        elif slot is not None:
            assert asked.slot_id == slot.id

    @rule(
        name=NAMES, timeouts=st.lists(st.sampled_from([HOUR, 3 * MINUTE, 2 * HOUR, 0, MINUTE]), min_size=1, max_size=5)
    )
    def request(self, name: str, timeouts: list[int]) -> None:
        for timeout in timeouts:
            self.calls += 1
            self.ask(name, f"call-{self.calls}", timeout)

    @rule(name=NAMES, key=KEYS, timeout=st.sampled_from([HOUR, 2 * MINUTE, 0]))
    def request_again(self, name: str, key: str, timeout: int) -> None:
        self.ask(name, key, timeout)

    @rule(name=NAMES, number=PICK)
    def send_again(self, name: str, number: int) -> None:
        if picked := self.pick(name, number):
            self.ask(self.touched, picked[1].key, HOUR)

    @rule(name=NAMES, number=PICK)
    def confirm(self, name: str, number: int) -> None:
        if picked := self.pick(name, number):
            limit, slot = picked
            expected = self.model.confirm(limit, slot)
            answer = engine.confirm(slot.id)
            assert (answer.slot_id, answer.state) == (slot.id, expected)

    @rule(name=NAMES)
    def confirm_first(self, name: str) -> None:
        limit = self.of(name)
        if reserved := limit.of("reserved"):
            assert engine.confirm(reserved[0].id).state == self.model.confirm(limit, reserved[0])

    @rule(name=NAMES, number=PICK, key=KEYS)
    def release(self, name: str, number: int, key: str) -> None:
        if picked := self.pick(name, number):
            self.give_back(*picked, key)

    @rule(name=NAMES, key=KEYS)
    def release_first(self, name: str, key: str) -> None:
        limit = self.of(name)
        if busy := limit.of("busy"):
            self.give_back(limit, busy[0], key)

    def give_back(self, limit: Limit, slot: Slot, key: str) -> None:
        released, granted = self.model.release(limit, slot, key)
        answer = engine.release(slot.id, actor=CLIENT, key=key)
        assert answer == engine.Released(released=released, state=slot.state, limit=self.touched, granted=granted)

    @rule(name=NAMES, number=PICK)
    def withdraw(self, name: str, number: int) -> None:
        if picked := self.pick(name, number):
            limit, slot = picked
            assert engine.withdraw(slot.id, actor=CLIENT) == self.model.withdraw(limit, slot)

    @rule(name=NAMES, key=KEYS)
    def abandon(self, name: str, key: str) -> None:
        limit = self.of(name)
        assert engine.abandon(self.touched, key, actor=CLIENT) == self.model.abandon(limit, key)

    @rule(
        name=NAMES,
        capacity=st.none() | st.integers(1, 4),
        max_hold=st.none() | HOLDS,
        sight=st.sampled_from(["right", "wrong", "none"]),
    )
    def edit(self, name: str, capacity: int | None, max_hold: int | None, sight: str) -> None:
        limit = self.of(name)
        seen = {"right": 0, "wrong": 1}.get(sight)
        arguments: dict[str, Any] = {
            "actor": OPERATOR,
            "capacity": capacity,
            "max_hold": max_hold,
            "expected_capacity": None if seen is None else limit.capacity + seen,
            "expected_max_hold": None if seen is None else limit.max_hold + seen,
        }
        values = {k: v for k, v in (("capacity", capacity), ("max_hold", max_hold)) if v is not None}
        if not limit.declared:
            with pytest.raises(UnknownLimitError):
                engine.edit(self.touched, **arguments)
        elif values and sight == "wrong":
            with pytest.raises(ChangedMeanwhileError):
                engine.edit(self.touched, **arguments)
        else:
            assert engine.edit(self.touched, **arguments).changed == self.model.override(limit, values)

    @rule(name=NAMES, field=st.sampled_from(["capacity", "max_hold"]))
    def reset(self, name: str, field: str) -> None:
        limit = self.of(name)
        assert engine.reset(self.touched, field, actor=OPERATOR).changed == self.model.reset(limit, field)

    @rule(name=NAMES)
    def pause(self, name: str) -> None:
        limit = self.of(name)
        assert engine.pause(self.touched, actor=OPERATOR).changed == self.model.pause(limit, True)

    @precondition(lambda self: any(limit.paused for limit in self.model.limits.values()))
    @rule()
    def resume(self) -> None:
        name = next(name for name, limit in self.model.limits.items() if limit.paused)
        limit = self.of(name)
        assert engine.resume(name, actor=OPERATOR).changed == self.model.pause(limit, False)

    @rule(settings=st.tuples(SETTINGS, SETTINGS, SETTINGS), without=st.sampled_from(["", "a", "", "b", "ab", "c"]))
    def declare(self, settings: tuple[tuple[int, int], ...], without: str) -> None:
        self.sync({name: values for name, values in zip("abc", settings, strict=True) if name not in without})

    def sync(self, wanted: dict[str, tuple[int, int]]) -> None:
        self.model.order += 1
        known = set(self.model.limits)
        self.model.declare(wanted)
        synced = engine.declare(
            "tests", {name: engine.Declared(capacity=c, max_hold=h) for name, (c, h) in wanted.items()}
        )
        assert set(synced.added) == set(wanted) - known

    @rule()
    def sweep(self) -> None:
        self.model.order += 1
        self.model.sweep()
        engine.sweep()

    @rule(minutes=st.sampled_from([1, 1, 2, 5]))
    def advance(self, minutes: int) -> None:
        self.model.now += minutes * MINUTE
        self.clock.advance(minutes * MINUTE)

    @rule(number=PICK, swept=st.booleans())
    def advance_to_something_due(self, number: int, swept: bool) -> None:
        live = [slot for limit in self.model.limits.values() for slot in limit.slots if slot.live]
        later = sorted({slot.due[0] for slot in live if slot.due[0] > self.model.now})
        if later:
            step = later[number % min(2, len(later))] - self.model.now
            self.model.now += step
            self.clock.advance(step)
            if swept:
                self.sweep()

    @invariant()
    def all_is_well(self) -> None:
        rows = {row["id"]: row for row in self.database.fetch(_ROWS)}
        states = {state.name: state for state in self._states()}
        _compare_with_model(self.model, rows, states)
        for name, state in states.items():
            before = [row for row in self.rows.values() if row["name"] == name]
            _check_rules(state, before, [row for row in rows.values() if row["name"] == name])
        for slot_id, row in self.rows.items():
            assert row["ended_at"] is None or rows[slot_id] == row, "an ended state is final"
        _compare_pages(self.touched, rows)
        assert engine.check() == []
        self.rows = rows

    def _states(self) -> list[queries.LimitState]:
        shown = {state.name: state for state in queries.limits()}
        for name, limit in self.model.limits.items():
            assert (name in shown) == (limit.declared or any(slot.live for slot in limit.slots))
        return [state for name in self.model.limits if (state := queries.limit(name)) is not None]


_ROWS: Final = "SELECT l.name, s.*, s.id::text AS id FROM limits.slot s JOIN limits.limit l ON l.id = s.limit_id"


def _empty(database: pool.Database) -> None:
    with database.connection() as connection, connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        for table in ("slot", "override", "limit", "change", "clock_shift"):
            connection.execute("DELETE FROM limits." + table)  # noqa: S608  (the names above)


def _compare_with_model(model: Model, rows: dict[str, Row], states: dict[str, queries.LimitState]) -> None:
    expected = {
        slot.id: (name, slot.key, slot.state, slot.number)
        for name, limit in model.limits.items()
        for slot in limit.slots
    }
    assert {key: (row["name"], row["key"], row["state"], row["number"]) for key, row in rows.items()} == expected
    assert set(states) == set(model.limits)
    for name, limit in model.limits.items():
        state = states[name]
        assert (state.capacity.effective, state.max_hold.effective) == (limit.capacity, limit.max_hold)
        assert (state.declared, state.paused) == (limit.declared, limit.paused)
        assert (state.busy, state.reserved, state.waiting) == tuple(
            len(limit.of(kind)) for kind in ("busy", "reserved", "waiting")
        )


def _check_rules(state: queries.LimitState, before: list[Row], after: list[Row]) -> None:
    """Check the rules on the rows alone: no model is needed to see these broken."""
    held_before = {(row["id"], row["number"]) for row in before if row["state"] in HELD}
    held = {(row["id"], row["number"]) for row in after if row["state"] in HELD}
    waiting = [row["number"] for row in after if row["state"] == "waiting"]
    capacity = state.capacity.effective
    assert len(held) <= max(capacity, len(held_before)), "held beyond the capacity, and not because it was lowered"
    assert not (held - held_before) or len(held) <= capacity, "granted beyond the capacity"
    if waiting:
        assert all(number < min(waiting) for _id, number in held - held_before), "granted out of order"
        assert state.paused or len(held) >= capacity, "a slot is free beside a waiter"


def _compare_pages(name: str, rows: dict[str, Row]) -> None:
    for state in ("busy", "reserved", "waiting"):
        shown: list[queries.SlotRow] = []
        after = None
        while True:
            page = queries.slots(name, state=state, after=after, count=3)
            shown += page.items
            after = page.next
            if after is None:
                break
        expected = sorted(
            (row["number"], row["id"]) for row in rows.values() if row["name"] == name and row["state"] == state
        )
        assert [(slot.number, slot.id) for slot in shown] == expected
        if state == "waiting":
            assert [slot.position for slot in shown] == list(range(1, len(shown) + 1))


def test_the_engine_agrees_with_the_model_whatever_happens(box: pool.Database) -> None:
    """A2, A3, A5, A6, Q1, Q4, Q6, F1, F3 to F6, F8, O1 to O3, O5 to O7, D6 to D8."""
    Box.database = box
    run_state_machine_as_test(
        Box,
        settings=settings(
            max_examples=5_000 if LONG else 250,
            stateful_step_count=80 if LONG else 50,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
            database=None,
            print_blob=True,
        ),
    )
