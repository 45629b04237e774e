"""Where the parts of a limit's history lie in its drawing, in pixels; no HTML here, no words.

Two panes over one axis of time: on top what was held against the capacity, below who waited, on a scale of its own,
since 5,000 waiting over a capacity of 20 would flatten anything. Under them a lane for each kind of mark.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Final

from limits.queries import History, Point, Spark

SIZES: Final = {"wide": 1180, "middle": 704, "narrow": 320}
"""Widths of the drawings of which the stylesheet shows one."""
LEFT: Final = 62
"""Room for the figures of the scales, "100,000"."""
RIGHT: Final = 8
TOP: Final = 18
"""Room for the capacity's label."""
HELD_HEIGHT: Final = 112
BETWEEN: Final = 22
WAITING_HEIGHT: Final = 44
LANE: Final = 14
AXIS: Final = 20
VISIBLE_MIN: Final = 1.5
"""The least that anything above zero rises, and that anything below the top of the scale stays under it."""
LABEL_MIN: Final = 88
"""The least width of a step of the capacity that carries a label, or of a gap."""
MARK: Final = 9
"""The size of a mark: a nearer one of its kind is not drawn."""
SPARK_SIZE: Final = (72, 18)

MARKS: Final = ("edits", "pauses", "resumes", "by_hand", "expired")
"""The kinds of marks, by the points' own words, in the order of their lanes."""

_HOUR: Final = timedelta(hours=1)
_TICKS: Final = {"1h": _HOUR / 6, "6h": _HOUR, "24h": 3 * _HOUR, "7d": 24 * _HOUR}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

type Step = tuple[float, float, float, float]
"""A left and a right edge, and from where up to where something lies: heights above the ground."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """An instant on the axis."""

    x: float
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A step of the capacity that has room for its label."""

    x: float
    y: float
    value: int
    over: bool
    """Whether more was held somewhere: its label then stands below the line, off the over part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A stretch of which nothing is known."""

    x: float
    width: float

    @property
    def middle(self) -> float | None:
        """Where its label stands; none without room for one."""
        return self.x + self.width / 2 if self.width >= LABEL_MIN else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that happened; `kind` is one of `MARKS`."""

    kind: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """One of the two panes: its ground lies at `bottom`, `highest` is the value at its top."""

    top: int
    height: int
    highest: int

    @property
    def bottom(self) -> int:
        """Where zero lies."""
        return self.top + self.height


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing of one size. Paths are as SVG writes them, empty where there is nothing to draw."""

    size: str
    width: int
    height: int
    count: int
    """How many steps lie side by side between `left` and `right`."""
    left: int
    right: int
    held: Pane
    waiting: Pane
    busy_area: str
    reserved_area: str
    over_area: str
    held_line: str
    capacity_line: str
    waiting_area: str
    waiting_line: str
    levels: list[Level]
    gaps: list[Gap]
    marks: list[Mark]
    ticks: list[Tick]

    @property
    def bottom(self) -> int:
        """Where both panes end."""
        return self.waiting.bottom


@dataclass(frozen=True, slots=True, kw_only=True)
class Sparkline:
    """The last hour in a table's row: what was held, and the part of it past the capacity."""

    width: int
    height: int
    held_area: str
    over_area: str
    highest: int
    """The most that was held."""


def chart(history: History, size: str) -> Chart:
    """Lay out a history; `size` is one of `SIZES`. It must have a point that is known."""
    width = SIZES[size]
    known = [point for point in history.points if point]
    kinds = [kind for kind in MARKS if any(getattr(point, kind) for point in known)]
    held = Pane(top=TOP, height=HELD_HEIGHT, highest=max(max(x.held, x.capacity) for x in known))
    waiting = Pane(top=held.bottom + BETWEEN, height=WAITING_HEIGHT, highest=max(max(x.waiting for x in known), 1))
    right = width - RIGHT
    edges = _edges(len(history.points), LEFT, right)
    runs = list(_runs(history.points, edges))

    def area(pane: Pane, low: Callable[[Point], int], high: Callable[[Point], int]) -> str:
        return _area([_steps(run, pane, low, high) for run in runs], pane.bottom)

    def line(pane: Pane, value: Callable[[Point], int]) -> str:
        return _line([_steps(run, pane, value, value) for run in runs], pane.bottom)

    return Chart(
        size=size,
        width=width,
        height=waiting.bottom + LANE * len(kinds) + AXIS,
        count=len(history.points),
        left=LEFT,
        right=right,
        held=held,
        waiting=waiting,
        busy_area=area(held, lambda _: 0, lambda x: min(x.busy, x.capacity)),
        reserved_area=area(held, lambda x: min(x.busy, x.capacity), lambda x: min(x.held, x.capacity)),
        over_area=area(held, lambda x: min(x.held, x.capacity), lambda x: x.held),
        held_line=line(held, lambda x: x.held),
        capacity_line=line(held, lambda x: x.capacity),
        waiting_area=area(waiting, lambda _: 0, lambda x: x.waiting),
        waiting_line=line(waiting, lambda x: x.waiting),
        levels=list(_levels(runs, held)),
        gaps=list(_gaps(history.points, edges)),
        marks=[mark for lane, kind in enumerate(kinds) for mark in _marks(runs, kind, waiting.bottom + LANE * lane)],
        ticks=list(_ticks(history, size, right)),
    )


def sparkline(sparks: Sequence[Spark | None]) -> Sparkline | None:
    """Lay out a last hour; none where nothing of it is known."""
    known = [spark for spark in sparks if spark]
    if not known:
        return None
    width, height = SPARK_SIZE
    # A pixel stays free above, or what is full would look cut off.
    pane = Pane(top=1, height=height - 1, highest=max(max(x.held, x.capacity) for x in known))
    runs = list(_runs(sparks, _edges(len(sparks), 0, width)))
    held = [_steps(run, pane, lambda _: 0, lambda x: min(x.held, x.capacity)) for run in runs]
    over = [_steps(run, pane, lambda x: min(x.held, x.capacity), lambda x: x.held) for run in runs]
    return Sparkline(
        width=width,
        height=height,
        held_area=_area(held, pane.bottom),
        over_area=_area(over, pane.bottom),
        highest=max(x.held for x in known),
    )


type _Run[T] = list[tuple[float, float, T]]
"""Points that are known, side by side, each with its left and right edge."""


def _edges(count: int, left: int, right: int) -> list[float]:
    return [_rounded(left + (right - left) * number / count) for number in range(count + 1)]


def _runs[T](points: Sequence[T | None], edges: Sequence[float]) -> Iterator[_Run[T]]:
    """Cut the points where a gap is."""
    run: _Run[T] = []
    for number, point in enumerate(points):
        if point is not None:
            run.append((edges[number], edges[number + 1], point))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _steps[T](run: _Run[T], pane: Pane, low: Callable[[T], int], high: Callable[[T], int]) -> list[Step]:
    return [(left, right, _rise(low(point), pane), _rise(high(point), pane)) for left, right, point in run]


def _rise(value: int, pane: Pane) -> float:
    if value <= 0:
        return 0
    if value >= pane.highest:
        return pane.height
    return _rounded(min(max(pane.height * value / pane.highest, VISIBLE_MIN), pane.height - VISIBLE_MIN))


def _area(rows: Sequence[Sequence[Step]], ground: int) -> str:
    """Draw along the upper edges and back along the lower ones, only where there is something between them."""
    parts = (list(part) for row in rows for filled, part in groupby(row, key=lambda step: step[3] > step[2]) if filled)
    return "".join(_along(part, ground) + _back(part, ground) for part in parts)


def _line(rows: Sequence[Sequence[Step]], ground: int) -> str:
    return "".join(_along(row, ground) for row in rows)


def _along(steps: Sequence[Step], ground: int) -> str:
    drawn, level = f"M{steps[0][0]:g} {ground - steps[0][3]:g}", steps[0][3]
    for left, _, _, high in steps:
        if high != level:
            drawn, level = f"{drawn}H{left:g}V{ground - high:g}", high
    return f"{drawn}H{steps[-1][1]:g}"


def _back(steps: Sequence[Step], ground: int) -> str:
    return "".join(f"V{ground - low:g}H{left:g}" for left, _, low, _ in reversed(steps)) + "Z"


def _levels(runs: Sequence[_Run[Point]], pane: Pane) -> Iterator[Level]:
    for run in runs:
        for capacity, points in groupby(run, key=lambda step: step[2].capacity):
            same = list(points)
            if same[-1][1] - same[0][0] >= LABEL_MIN:
                over = any(point.held > capacity for *_, point in same)
                yield Level(x=same[0][0], y=_rounded(pane.bottom - _rise(capacity, pane)), value=capacity, over=over)


def _gaps(points: Sequence[Point | None], edges: Sequence[float]) -> Iterator[Gap]:
    for known, numbers in groupby(range(len(points)), key=lambda number: points[number] is not None):
        if not known:
            missing = list(numbers)
            x = edges[missing[0]]
            yield Gap(x=x, width=_rounded(edges[missing[-1] + 1] - x))


def _marks(runs: Sequence[_Run[Point]], kind: str, top: int) -> Iterator[Mark]:
    nearest = float("-inf")
    for left, right, point in (step for run in runs for step in run):
        x = _rounded((left + right) / 2)
        if getattr(point, kind) and x - nearest >= MARK:
            yield Mark(kind=kind, x=x, y=top + LANE / 2)
            nearest = x


def _ticks(history: History, size: str, right: int) -> Iterator[Tick]:
    every = _TICKS[history.range.key] * (2 if size == "narrow" else 1)
    at = _EPOCH + -(-(history.starts - _EPOCH) // every) * every
    whole = history.range.step * history.range.count
    while at < history.starts + whole:
        x = _rounded(LEFT + (right - LEFT) * ((at - history.starts) / whole))
        # Its label stands in the middle under it, and must not be cut off.
        if x <= right - 12:
            yield Tick(x=x, at=at)
        at += every


def _rounded(pixels: float) -> float:
    return round(pixels, 1)
