"""A box as an operator meets it at a bad hour, made through the engine: for screenshots and browser tests.

`make` moves the box's clock through three quarters of an hour of traffic in an instant.
"""

import random
from collections.abc import Callable
from typing import Final

from limits import durations, engine, rules
from limits.engine import Actor, Declared

ANA: Final = Actor(name="ana@example.com", source="studio")
BEN: Final = Actor(name="ben@example.com", source="cli")
NOW: Final = 47 * 60
"""Seconds after its beginning at which the scene stands still."""

LIMITS: Final = {
    "bulk-import": (2_000, "30d"),
    "nightly-export": (1, "6h"),
    "partner-api": (8, "40m"),
    "sms-out": (10, "10m"),
    "transcode.gpu": (8, "1h30m"),
    "voice-calls": (20, "45m"),
    "webhook_retry": (50, "5m"),
}

type Step = Callable[[], object]


def make(advance: Callable[[int], None]) -> dict[str, str]:
    """Fill the box; `advance` moves its clock by milliseconds. Return the slots' ids by label."""
    return _Scene(advance).make()


class _Scene:
    def __init__(self, advance: Callable[[int], None]) -> None:
        self.advance = advance
        self.random = random.Random(7)
        self.steps: list[tuple[float, Step]] = []
        self.ids: dict[str, str] = {}

    def make(self) -> dict[str, str]:
        """Plan all steps, then take them in order of time."""
        engine.declare("call-center", {name: _declared(*values) for name, values in LIMITS.items()})
        self.plan_voice_calls()
        self.plan_partner_api()
        self.plan_others()
        passed = 0.0
        for at, step in sorted(self.steps, key=lambda planned: planned[0]):
            self.advance(round((at - passed) * 1_000))
            passed = at
            step()
        self.advance(round((NOW - passed) * 1_000))
        engine.roll_up()
        return self.ids

    def plan_voice_calls(self) -> None:
        """Plan a full limit: one slot near its end, one reserved, and a queue."""
        for place in range(21):
            label = f"call_{self.token(6)}"
            self.ask(330 + place * 85, "voice-calls", label, workflow="place-call")
            if place == 3:
                self.at(NOW - 14, lambda label=label: engine.release(self.ids[label], actor=ANA))
        for ago, timeout in ((724, 29), (718, 30), (560, 10), (482, 1440), (300, 30), (131, 30), (20, 30)):
            label = f"call_{self.token(6)}" if ago != 560 else None
            workflow = "outreach" if ago in (560, 131) else "place-call"
            self.ask(NOW - ago, "voice-calls", label, workflow=workflow, timeout=timeout)

    def plan_partner_api(self) -> None:
        """Plan a limit whose capacity was lowered under load, with a slot that nobody took back."""
        for place in range(7):
            self.ask(300 + place * 240, "partner-api", f"sync/{self.token(4)}", workflow=None)
        edit = {"capacity": 5, "reason": "partner throttles us"}
        self.at(2_000, lambda: engine.edit("partner-api", actor=ANA, **edit))
        for ago in (600, 420, 60):
            self.ask(min(NOW - ago, 2_650), "partner-api", f"sync/{self.token(4)}", workflow=None)

    def plan_others(self) -> None:
        """Plan limits that are idle, open, paused and full with nobody waiting."""
        self.ask(100, "nightly-export", "2026-12-02", workflow="nightly-export")
        for place in range(5):
            self.ask(1_500 + place * 200, "transcode.gpu", f"clip-{self.token(5)}", workflow="transcode")
        for place in range(412):
            self.ask(900 + place, "bulk-import", f"row-batch-{place:05}", workflow="bulk-import")
        self.at(600, lambda: engine.edit("bulk-import", actor=BEN, max_hold=2 * rules.DAY))
        for place in range(4):
            self.ask(2_300 + place * 9, "sms-out", f"sms-{self.token(8)}", workflow="send-sms")
        self.at(2_400, lambda: engine.pause("sms-out", actor=ANA, reason="provider outage"))
        for place in range(41):
            self.ask(2_420 + place * 8, "sms-out", f"sms-{self.token(8)}", workflow="send-sms", timeout=60)

    def at(self, seconds: float, step: Step) -> None:
        """Plan a step."""
        self.steps.append((seconds, step))

    def ask(self, at: float, limit: str, label: str | None, *, workflow: str | None, timeout: int = 1440) -> None:
        """Plan a request; `timeout` in minutes."""
        run_id = f"run_{self.token(8)}" if workflow else None

        def step() -> None:
            asked = engine.request(
                limit,
                key=self.token(16),
                label=label,
                timeout=timeout * rules.MINUTE,
                run_id=run_id,
                workflow=workflow,
            )
            assert asked.slot_id is not None
            if label is not None:
                self.ids[label] = asked.slot_id

        self.at(at, step)

    def token(self, length: int) -> str:
        """Return random letters and digits, the same in every run."""
        return "".join(self.random.choices("abcdefghkmnpqrstuvwxyz23456789", k=length))


def _declared(capacity: int, max_hold: str) -> Declared:
    return Declared(capacity=capacity, max_hold=durations.parse_max_hold(max_hold, where="scene"))
