"""The occupancy bar keeps its promises to the pixel, at every size that tempts it to lie."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from limits.queries import LimitState, Pause, Setting
from studio import bars
from studio.templatetags.drawings import bar as rendered

SIZES = ("list", "detail")
CAPACITIES = (1, 20, 24, 25, 100_000)


def drawn(capacity: int, busy: int, reserved: int = 0, *, paused: bool = False, size: str = "list") -> bars.Bar:
    return bars.bar(capacity, busy=busy, reserved=reserved, paused=paused, size=size)


def widths(bar: bars.Bar) -> dict[str, int]:
    return {kind: sum(p.width for p in bar.parts if p.kind == kind) for kind in {p.kind for p in bar.parts}}


def kinds(bar: bars.Bar) -> list[str]:
    return [part.kind for part in bar.parts]


@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("size", SIZES)
def test_up_to_24_slots_each_has_a_cell_and_more_share_one_fill(capacity: int, size: str) -> None:
    """S1: one cell a slot up to 24, a continuous bar with a scale above."""
    bar = drawn(capacity, 0, size=size)
    assert bar.segmented == (capacity <= 24)
    assert len(bar.parts) == (capacity if capacity <= 24 else 1)
    assert len(bar.quarters) == (0 if capacity <= 24 else 3)
    assert (bar.width, bar.height) == {"list": (180, 14), "detail": (320, 18)}[size]


def test_a_single_slot_is_one_cell_of_24_pixels_and_no_slab() -> None:
    """S1: capacity 1 reads as one slot."""
    assert drawn(1, 1).parts == (bars.Part(kind="busy", x=0, width=24),)


def test_twenty_slots_are_cells_of_7_pixels_two_apart_in_the_list() -> None:
    """S1: the list's 180 px hold twenty cells."""
    bar = drawn(20, 19)
    assert {part.width for part in bar.parts} == {7}
    assert {after.x - before.x for before, after in zip(bar.parts, bar.parts[1:], strict=False)} == {9}
    assert kinds(bar) == ["busy"] * 19 + ["free"]


@pytest.mark.parametrize("capacity", [25, 100_000])
@pytest.mark.parametrize("size", SIZES)
def test_a_single_busy_slot_shows_and_a_single_free_one_too(capacity: int, size: str) -> None:
    """S1: above zero draws 2 px at least, below full leaves 2 px at least."""
    one, almost, full = (drawn(capacity, busy, size=size) for busy in (1, capacity - 1, capacity))
    assert widths(one)["busy"] >= 2
    assert widths(almost)["free"] >= 2
    assert widths(full) == {"busy": full.width}
    assert widths(drawn(capacity, 0, size=size)) == {"free": full.width}


def test_99_999_of_100_000_leaves_exactly_the_promised_gap() -> None:
    """S1: almost full never looks full."""
    assert widths(drawn(100_000, 99_999)) == {"busy": 178, "free": 2}
    assert widths(drawn(100_000, 1)) == {"busy": 2, "free": 178}


@pytest.mark.parametrize("capacity", [c for c in CAPACITIES if c < 24])
def test_past_the_capacity_cells_turn_over_and_the_tick_fills_the_gap_before_them(capacity: int) -> None:
    """S1: over capacity the scale is what is held; the tick stands where the capacity ends."""
    bar = drawn(capacity, capacity + 1)
    assert kinds(bar) == ["busy"] * capacity + ["over"]
    assert bar.tick == bar.parts[capacity].x - 2
    assert drawn(capacity, capacity).tick is None


def test_24_slots_with_one_too_many_turn_continuous() -> None:
    """S1: what counts for the form is the larger of capacity and held."""
    bar = drawn(24, 25)
    assert not bar.segmented
    assert kinds(bar) == ["busy", "over"]


@pytest.mark.parametrize("capacity", [25, 100_000])
def test_a_continuous_bar_shows_one_slot_too_many_and_ticks_the_capacity(capacity: int) -> None:
    """S1: over by one of 100,000 is still to be seen."""
    bar = drawn(capacity, capacity + 1)
    over = bar.parts[-1]
    assert over.kind == "over"
    assert over.width >= 2
    assert bar.tick == over.x - 1
    assert over.x + over.width == bar.width


def test_the_tick_is_taller_than_the_bar_on_both_sides() -> None:
    """S1: hue alone would not tell over from busy."""
    bar = drawn(5, 7)
    assert (bar.top, bar.height - bar.bottom) == (2, 2)


def test_reserved_follows_busy_and_both_show_however_small() -> None:
    """S1: reserved slots count against the capacity and are drawn apart."""
    assert kinds(drawn(8, 3, 2)) == ["busy"] * 3 + ["reserved"] * 2 + ["free"] * 3
    assert widths(drawn(100_000, 1, 1)) == {"busy": 2, "reserved": 2, "free": 176}
    assert widths(drawn(100_000, 0, 1)) == {"reserved": 2, "free": 178}


@pytest.mark.parametrize("busy", [0, 4])
@pytest.mark.parametrize("capacity", CAPACITIES)
def test_a_paused_bar_keeps_its_cells_inside_a_dashed_outline(capacity: int, busy: int) -> None:
    """O6: pausing changes no slot, so the cells stay what they are."""
    busy = min(busy, capacity)
    paused, running = drawn(capacity, busy, paused=True), drawn(capacity, busy)
    assert [k for k in kinds(paused) if k != "free"] == [k for k in kinds(running) if k != "free"]
    assert paused.parts[0].x == bars.PAUSED_INSET
    assert paused.parts[0].x + paused.extent + bars.PAUSED_INSET <= paused.width


@example(capacity=2, busy=1, reserved=50_000, paused=False, size="list")
@given(
    capacity=st.integers(1, 100_000),
    busy=st.integers(0, 200_000),
    reserved=st.integers(0, 100_000),
    paused=st.booleans(),
    size=st.sampled_from(SIZES),
)
def test_no_bar_leaves_its_canvas_overlaps_or_hides_a_part(
    capacity: int, busy: int, reserved: int, paused: bool, size: str
) -> None:
    """S1: whatever the numbers, parts stand side by side, inside, and each present kind shows."""
    bar = bars.bar(capacity, busy=busy, reserved=reserved, paused=paused, size=size)
    ends = [part.x + part.width for part in bar.parts]
    gap = bars.GAP if bar.segmented else 0
    assert all(end + gap == after.x for end, after in zip(ends, bar.parts[1:], strict=False))
    assert bar.parts[0].x >= 0
    assert ends[-1] <= bar.width
    assert all(part.width >= 2 for part in bar.parts)
    held = busy + reserved
    assert ("busy" in kinds(bar)) == (busy > 0)
    assert ("free" in kinds(bar)) == (held < capacity)
    assert ("over" in kinds(bar)) == (held > capacity) == (bar.tick is not None)


@pytest.mark.parametrize(("passed", "filled"), [(-5, 0), (0, 0), (1, 2), (500, 32), (999, 62), (1000, 64), (9000, 64)])
def test_the_meter_is_full_only_when_the_time_is_up(passed: int, filled: int) -> None:
    """S2: a slot near its max hold is not past it."""
    assert bars.meter(passed=passed, total=1000) == filled


def limit(*, capacity: int, busy: int, reserved: int, paused: bool = False) -> LimitState:
    now = datetime(2026, 12, 2, 14, 32, 8, tzinfo=UTC)
    value = Setting(
        effective=capacity, declared=capacity, override=None, override_by=None, override_at=None, override_reason=None
    )
    return LimitState(
        name="calls", declared=True, capacity=value, max_hold=value, busy=busy, reserved=reserved, waiting=0,
        pause=Pause(by="ana", at=now, reason=None) if paused else None, oldest_asked_at=None, next_expiry=None, changed_at=now,
        revision=1, now=now,
    )  # fmt: skip


def test_what_the_bar_shows_is_said_in_words_too() -> None:
    """S6: the drawing is hidden from a screen reader, its sentence is not."""
    assert rendered(limit(capacity=20, busy=20, reserved=2))["sentence"] == "20 busy and 2 reserved of 20, 2 over"
    assert rendered(limit(capacity=100_000, busy=41_237, reserved=0))["sentence"] == "41,237 busy of 100,000"
