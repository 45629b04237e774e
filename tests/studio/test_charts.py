"""The drawing of a history: what is drawn can be read back from its paths."""

import itertools
import re
from typing import Any

import pytest

from limits.queries import RANGES, Spark
from studio import charts
from studio.charts import Chart
from tests.studio.points import history

SIZES = list(charts.SIZES)


def draw(points: list[dict[str, Any] | None], size: str = "wide", **given: Any) -> Chart:
    return charts.chart(history(points, **given), size)


def corners(path: str) -> list[list[tuple[float, float]]]:
    """Return the corners of each part of a path."""
    parts: list[list[tuple[float, float]]] = []
    x = y = 0.0
    for command, numbers in re.findall(r"([MHVZ])([^MHVZ]*)", path):
        values = [float(number) for number in numbers.split()]
        match command:
            case "M":
                (x, y), parts = values, [*parts, []]
            case "H":
                (x,) = values
            case "V":
                (y,) = values
        if command != "Z":
            parts[-1].append((x, y))
    return parts


def level(path: str, x: float) -> float:
    """Return how high the upper edge of a path lies at `x`; the ways back of areas are not asked for."""
    for part in corners(path):
        for (left, y), (right, _) in itertools.pairwise(part):
            if left <= x < right:
                return y
    raise AssertionError(f"nothing is drawn at {x}")


def value(pane: charts.Pane, y: float) -> float:
    return (pane.bottom - y) / pane.height * pane.highest


def middle(chart: Chart, point: int) -> float:
    return chart.left + (chart.right - chart.left) * (point + 0.5) / chart.count


@pytest.mark.parametrize("size", SIZES)
def test_every_step_lies_at_its_time_and_height(size: str) -> None:
    """Busy, reserved above it, the capacity and who waits, each on its scale."""
    points = [{"busy": 3 + n % 7, "reserved": n % 3, "waiting": 100 * (n % 5), "capacity": 20} for n in range(60)]
    chart = draw(points, size)
    for n, point in enumerate(points):
        x = middle(chart, n)
        held = point["busy"] + point["reserved"]
        assert value(chart.held, level(chart.busy_area, x)) == pytest.approx(point["busy"], abs=0.05)
        assert value(chart.held, level(chart.held_line, x)) == pytest.approx(held, abs=0.05)
        assert value(chart.held, level(chart.capacity_line, x)) == 20
        assert value(chart.waiting, level(chart.waiting_line, x)) == pytest.approx(point["waiting"], abs=3)
    assert chart.waiting.highest == 400
    assert chart.over_area == ""


def test_what_is_past_the_capacity_is_over_and_the_scale_takes_it_in() -> None:
    """Over a lowered capacity, busy stops at the line and the over part begins there."""
    points = [{"busy": 7, "capacity": 8}] * 30 + [{"busy": 6, "reserved": 1, "capacity": 5}] * 30
    chart = draw(points)
    x = middle(chart, 45)
    assert chart.held.highest == 8
    assert value(chart.held, level(chart.busy_area, x)) == 5
    (over,) = corners(chart.over_area)
    assert {round(value(chart.held, y), 1) for _, y in over} == {5, 7}
    assert min(at for at, _ in over) == pytest.approx((chart.left + chart.right) / 2, abs=0.1)
    assert [(step.value, step.over) for step in chart.levels] == [(8, False), (5, True)]


def test_a_gap_stays_a_gap() -> None:
    """Every line and area breaks off; the stretch is marked in its whole width."""
    points: list[dict[str, Any] | None] = [{"busy": 2, "waiting": 1}] * 20 + [None] * 10 + [{"busy": 4}] * 30
    chart = draw(points)
    (gap,) = chart.gaps
    assert (gap.x, gap.x + gap.width) == pytest.approx((middle(chart, 20) - 9.3, middle(chart, 29) + 9.3), abs=0.2)
    for path in (chart.busy_area, chart.held_line, chart.capacity_line, chart.waiting_line):
        assert not any(gap.x < x < gap.x + gap.width for part in corners(path) for x, _ in part)
        with pytest.raises(AssertionError, match="nothing is drawn"):
            level(path, middle(chart, 25))


@pytest.mark.parametrize(("busy", "capacity"), [(1, 100_000), (99_999, 100_000)])
def test_next_to_nothing_shows_and_next_to_full_leaves_room(busy: int, capacity: int) -> None:
    """One of 100,000 is not nothing, 99,999 are not all."""
    chart = draw([{"busy": busy, "capacity": capacity}] * 60)
    y = level(chart.held_line, middle(chart, 5))
    assert chart.held.top + 1 < y < chart.held.bottom - 1


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("key", RANGES)
def test_ticks_stand_on_round_times_inside_the_drawing(size: str, key: str) -> None:
    """Their labels neither run into each other nor out of the drawing."""
    of = RANGES[key]
    chart = draw([{"busy": 1}] * of.count, size, of=of)
    assert len(chart.ticks) >= 3
    every = {chart.ticks[n + 1].at - chart.ticks[n].at for n in range(len(chart.ticks) - 1)}
    assert len(every) == 1
    assert all(tick.at.timestamp() % every.copy().pop().total_seconds() == 0 for tick in chart.ticks)
    xs = [tick.x for tick in chart.ticks]
    assert min(b - a for a, b in itertools.pairwise(xs)) >= 40
    assert chart.left <= xs[0]
    assert xs[-1] + 12 <= chart.right


def test_marks_of_a_kind_share_a_lane_and_never_touch() -> None:
    """Only the kinds that there are take room."""
    points = [{"expired": 1, "edits": int(n == 7)} for n in range(96)]
    chart = draw(points, "narrow", of=RANGES["24h"])
    lanes = {kind: [mark for mark in chart.marks if mark.kind == kind] for kind in charts.MARKS}
    assert [kind for kind, marks in lanes.items() if marks] == ["edits", "expired"]
    xs = [mark.x for mark in lanes["expired"]]
    assert min(b - a for a, b in itertools.pairwise(xs)) >= charts.MARK
    assert {mark.y for mark in lanes["edits"]}.isdisjoint(mark.y for mark in lanes["expired"])
    assert chart.height - draw([{}] * 96, "narrow", of=RANGES["24h"]).height == 2 * charts.LANE


def test_a_sparkline_shows_what_was_held_and_what_of_it_was_over() -> None:
    """On the scale of the capacity, or of what was held where that is more; with its gaps."""
    drawn = charts.sparkline([None] * 10 + [Spark(held=4, capacity=8)] * 5 + [Spark(held=8, capacity=4)] * 5)
    assert drawn is not None
    assert drawn.highest == 8
    (held,), (over,) = corners(drawn.held_area), corners(drawn.over_area)
    assert (min(x for x, _ in held), max(x for x, _ in held)) == (36, 72)
    assert (min(x for x, _ in over), max(x for x, _ in over)) == (54, 72)
    assert min(y for _, y in over) == 1
    assert min(y for _, y in held) == 9.5
    assert charts.sparkline([]) is None
    assert charts.sparkline([None] * 20) is None
