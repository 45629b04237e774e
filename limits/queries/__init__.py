"""Every read that Studio, CLI and API share, as frozen values, so no two places can disagree on a number.

Instants are aware `datetime`s by the database's clock; durations are whole milliseconds.
"""

from limits.queries.of_history import RANGES, history, sparklines
from limits.queries.of_limits import changes, limit, limits, near_names, revisions
from limits.queries.of_queue import every, latest, next_move, queue, start, starts
from limits.queries.of_runs import ahead, held_by_run, near, slots_of_run, workflows
from limits.queries.of_slots import expiries, head, last_expiry, slot, slots
from limits.queries.values import (
    Change,
    Health,
    History,
    LimitState,
    Page,
    Pause,
    Point,
    Range,
    Setting,
    SlotRow,
    Spark,
    Start,
    Unbounded,
    Workflow,
)

__all__ = [
    "RANGES",
    "Change",
    "Health",
    "History",
    "LimitState",
    "Page",
    "Pause",
    "Point",
    "Range",
    "Setting",
    "SlotRow",
    "Spark",
    "Start",
    "Unbounded",
    "Workflow",
    "ahead",
    "changes",
    "every",
    "expiries",
    "head",
    "held_by_run",
    "history",
    "last_expiry",
    "latest",
    "limit",
    "limits",
    "near",
    "near_names",
    "next_move",
    "queue",
    "revisions",
    "slot",
    "slots",
    "slots_of_run",
    "sparklines",
    "start",
    "starts",
    "workflows",
]
