"""What the list sorts limits by. Pure."""

import math
from typing import Final

from limits.queries import Health, LimitState

# What wants a person first. An anomaly stands before what somebody decided, that before plain load.
_SEVERITY: Final = (
    Health.STUCK,
    Health.OVERDUE,
    Health.OVER,
    Health.PAUSED,
    Health.FULL,
    Health.FILLING,
    Health.UNDECLARED,
    Health.OPEN,
    Health.IDLE,
)


def severity(health: Health) -> int:
    """Return the place of a state in the order of severity, the gravest first."""
    return _SEVERITY.index(health)


def keys(limit: LimitState) -> dict[str, float]:
    """Return what a limit is sorted by, in numbers: a browser tells by them whether a drawn order still holds."""
    return {
        "busy": limit.held / limit.capacity.effective,
        "waiting": limit.waiting,
        "oldest": -limit.oldest_asked_at.timestamp() if limit.oldest_asked_at else -math.inf,
        "state": severity(limit.health) * 1e12 - limit.over * 1e6 - limit.waiting,
    }
