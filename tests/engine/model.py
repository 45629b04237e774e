"""The rules once more, as simply as they can be said: what the engine has to agree with.

Time is a number of milliseconds that only `advance` moves; `order` counts the operations, since two things of the
same instant happened one after the other.
"""

from dataclasses import dataclass, field

from limits.rules import MINUTE

HELD = ("reserved", "busy")


@dataclass
class Slot:
    id: str
    key: str
    number: int
    state: str
    deadline: int
    asked: int
    """The order of the request."""
    until: int = 0
    """When a reservation or a hold ends."""
    expires: int = 0
    granted: int = 0
    """The order of the grant."""
    release_key: str | None = None

    @property
    def live(self) -> bool:
        return self.state in ("waiting", *HELD)

    @property
    def due(self) -> tuple[int, int, int]:
        if self.state == "waiting":
            return self.deadline, self.asked, self.number
        return self.until, self.granted, self.number


@dataclass
class Limit:
    declared_capacity: int
    declared_max_hold: int
    declared: bool = True
    overrides: dict[str, int] = field(default_factory=dict)
    paused: bool = False
    last_number: int = 0
    slots: list[Slot] = field(default_factory=list)

    @property
    def capacity(self) -> int:
        return self.overrides.get("capacity", self.declared_capacity)

    @property
    def max_hold(self) -> int:
        return self.overrides.get("max_hold", self.declared_max_hold)

    def of(self, *states: str) -> list[Slot]:
        return sorted((slot for slot in self.slots if slot.state in states), key=lambda slot: slot.number)

    def find(self, key: str) -> Slot | None:
        return next((slot for slot in self.slots if slot.live and slot.key == key), None)


class Model:
    """A box as it should be."""

    def __init__(self) -> None:
        self.now = 0
        self.order = 0
        self.limits: dict[str, Limit] = {}

    def settle(self, limit: Limit) -> int:
        """Settle what is due, grant what is free; return how many were granted."""
        for slot in sorted(
            (slot for slot in limit.slots if slot.live and slot.due[0] <= self.now), key=lambda s: s.due
        ):
            if slot.state == "busy":
                slot.state = "expired"
            elif slot.deadline <= self.now:
                slot.state = "timed_out"
            else:
                limit.last_number += 1
                slot.state, slot.number = "waiting", limit.last_number
        return self.grant(limit)

    def grant(self, limit: Limit) -> int:
        granted = 0
        for slot in limit.of("waiting"):
            if limit.paused or len(limit.of(*HELD)) >= limit.capacity:
                break
            slot.state, slot.granted = "reserved", self.order
            slot.expires = self.now + limit.max_hold
            slot.until = min(self.now + 2 * MINUTE, slot.expires)
            granted += 1
        return granted

    def request(self, name: str, key: str, timeout: int) -> str:
        """Return the state that the answer must have."""
        limit = self.limits[name]
        self.settle(limit)
        found = limit.find(key)
        if found is not None:
            return found.state
        if not limit.declared:
            return "undeclared"
        free = not limit.paused and not limit.of("waiting") and len(limit.of(*HELD)) < limit.capacity
        if not free and timeout == 0:
            return "no_slot"
        limit.last_number += 1
        slot = Slot("", key, limit.last_number, "waiting", self.now + timeout, self.order)
        if free:
            slot.state, slot.granted, slot.until = "busy", self.order, self.now + limit.max_hold
        limit.slots.append(slot)
        return slot.state

    def confirm(self, limit: Limit, slot: Slot) -> str:
        self.settle(limit)
        if slot.state == "reserved":
            slot.state, slot.until = "busy", slot.expires
        return slot.state

    def release(self, limit: Limit, slot: Slot, key: str) -> tuple[bool, int]:
        """Return whether the call released it, and how many were granted."""
        self.settle_only(limit)
        released = slot.state == "busy"
        if released:
            slot.state, slot.release_key = "released", key
        return released or slot.release_key == key, self.grant(limit)

    def settle_only(self, limit: Limit) -> None:
        paused, limit.paused = limit.paused, True
        self.settle(limit)
        limit.paused = paused

    def withdraw(self, limit: Limit, slot: Slot) -> bool:
        self.settle_only(limit)
        left = slot.state in ("waiting", "reserved")
        if left:
            slot.state = "withdrawn"
        self.grant(limit)
        return left

    def abandon(self, limit: Limit, key: str) -> str | None:
        self.settle_only(limit)
        slot = limit.find(key)
        before = slot.state if slot is not None else None
        if slot is not None:
            slot.state = "released" if before == "busy" else "withdrawn"
        self.grant(limit)
        return before

    def override(self, limit: Limit, values: dict[str, int]) -> bool:
        self.settle_only(limit)
        changed = any(limit.overrides.get(name) != value for name, value in values.items())
        limit.overrides |= values
        self.grant(limit)
        return changed

    def reset(self, limit: Limit, name: str) -> bool:
        if name not in limit.overrides:
            return False
        self.settle_only(limit)
        del limit.overrides[name]
        self.grant(limit)
        return True

    def pause(self, limit: Limit, pause: bool) -> bool:
        if limit.paused == pause:
            return False
        self.settle_only(limit)
        limit.paused = pause
        self.grant(limit)
        return True

    def declare(self, wanted: dict[str, tuple[int, int]]) -> None:
        for name, limit in self.limits.items():
            if name in wanted:
                self.settle_only(limit)
                limit.declared = True
                limit.declared_capacity, limit.declared_max_hold = wanted[name]
                self.grant(limit)
            elif limit.declared:
                limit.declared = False
                self.settle(limit)
        for name, values in wanted.items():
            if name not in self.limits:
                self.limits[name] = Limit(*values)

    def sweep(self) -> None:
        for limit in self.limits.values():
            self.settle(limit)
