"""Histories made by hand, for tests of how they are drawn and what is said about them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from limits.queries import RANGES, History, Point, Range

STARTS: Final = datetime(2026, 12, 2, 13, 33, tzinfo=UTC)


def history(points: Sequence[dict[str, Any] | None], *, of: Range = RANGES["1h"], **given: Any) -> History:
    """Return a history of such points over a capacity of 20 unless they say otherwise; none for a gap."""
    base = {"busy": 0, "reserved": 0, "waiting": 0, "capacity": 20}
    made = [
        None if point is None else Point(at=STARTS + of.step * number, **(base | point))
        for number, point in enumerate(points)
    ]
    values: dict[str, Any] = {
        "range": of,
        "points": made,
        "starts": STARTS,
        "begins": STARTS,
        "stopped": None,
        "longest_wait": None,
        "now": STARTS + of.step * len(points) - timedelta(seconds=20),
    }
    return History(**(values | given))
