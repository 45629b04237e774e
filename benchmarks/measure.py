"""A case against its floor, one after the other over and over, so that what drifts on the machine cancels out."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What a row of the table is held to: a ratio to its floor."""

    ratio: float
    at_least: bool = True
    """Else at most: of durations, less is better."""

    def met(self, seen: float) -> bool:
        """Tell whether a ratio reaches the bar."""
        return seen >= self.ratio if self.at_least else seen <= self.ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One row of the table. `seen` and `floor` are in `unit`; `ratio` is the median of `ratios`."""

    name: str
    title: str
    unit: str
    seen: float
    floor: float
    ratios: list[float]
    bar: Bar

    @property
    def ratio(self) -> float:
        """The median of the rounds, each against the floor right before and after it."""
        return statistics.median(self.ratios)

    @property
    def met(self) -> bool:
        """Whether the median reaches the bar."""
        return self.bar.met(self.ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """How long to measure: so many rounds of so many seconds."""

    count: int
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Medians of a case and of its floor, and the ratio of each round."""

    seen: float
    floor: float
    ratios: list[float]


def compare(case: Callable[[], float], floor: Callable[[], float], *, rounds: int) -> Compared:
    """Measure floor, case, floor, case, …, floor; each case counts against the mean of its two neighbours."""
    floors, seen = [floor()], []
    for _ in range(rounds):
        seen.append(case())
        floors.append(floor())
    ratios = [value * 2 / (before + after) for value, before, after in zip(seen, floors, floors[1:], strict=False)]
    return Compared(seen=statistics.median(seen), floor=statistics.median(floors), ratios=ratios)
