"""Where the parts of the occupancy bar and of the hold meter lie, in whole pixels; no HTML here.

Up to 24 slots the bar is a row of cells, one a slot; above, one continuous fill. Two promises keep
the continuous bar honest: what is above zero shows, and what is below full leaves a gap.
"""

from dataclasses import dataclass
from typing import Final

SEGMENTED_MAX: Final = 24
CELL_MAX: Final = 24
GAP: Final = 2
OVERHANG: Final = 2
"""The capacity tick stands out above and below the bar by this much."""
VISIBLE_MIN: Final = 2
"""The least that a non-zero part, and the least that a non-empty rest, is wide."""
PAUSED_INSET: Final = 4
"""Room at both ends for the dashed outline of a paused limit."""

BUSY: Final = "busy"
RESERVED: Final = "reserved"
FREE: Final = "free"
OVER: Final = "over"

SIZES: Final = {"list": (180, 14), "detail": (320, 18)}
METER_SIZE: Final = (64, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A rectangle of one kind: busy, reserved, free or over (held past the capacity)."""

    kind: str
    x: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A drawn bar: the canvas is `width` × `height`, the body lies `top` below its edge."""

    width: int
    height: int
    top: int
    body: int
    segmented: bool
    parts: tuple[Part, ...]
    tick: int | None
    """Left edge of the 2 px capacity tick; only while more is held than the capacity."""
    quarters: tuple[int, ...]
    """Where the scale under a continuous bar has its marks."""
    extent: int
    """Width of the parts together."""
    paused: bool

    @property
    def bottom(self) -> int:
        """The body's lower edge, where the scale's marks begin."""
        return self.top + self.body


def bar(capacity: int, *, busy: int, reserved: int, paused: bool, size: str = "list") -> Bar:
    """Lay out the bar of a limit; `size` is "list" (180 × 14) or "detail" (320 × 18)."""
    width, height = SIZES[size]
    inset = PAUSED_INSET if paused else 0
    room = width - 2 * inset
    segmented = max(capacity, busy + reserved) <= SEGMENTED_MAX
    layout = _cells if segmented else _fill
    parts = layout(capacity, busy, reserved, room, inset)
    return Bar(
        width=width,
        height=height,
        top=OVERHANG,
        body=height - 2 * OVERHANG,
        segmented=segmented,
        parts=parts,
        tick=_tick(parts, segmented=segmented),
        quarters=() if segmented else tuple(inset + room * n // 4 for n in (1, 2, 3)),
        extent=parts[-1].x + parts[-1].width - inset,
        paused=paused,
    )


def meter(*, passed: int, total: int) -> int:
    """Return how many of the meter's 64 px are filled when `passed` of `total` has passed."""
    return _share(min(max(passed, 0), total), total, METER_SIZE[0])


def _cells(capacity: int, busy: int, reserved: int, room: int, start: int) -> tuple[Part, ...]:
    count = max(capacity, busy + reserved)
    width = min(CELL_MAX, (room - GAP * (count - 1)) // count)

    def kind(index: int) -> str:
        if index >= busy + reserved:
            return FREE
        if index >= capacity:
            return OVER
        return BUSY if index < busy else RESERVED

    return tuple(Part(kind=kind(index), x=start + index * (width + GAP), width=width) for index in range(count))


def _fill(capacity: int, busy: int, reserved: int, room: int, start: int) -> tuple[Part, ...]:
    held = busy + reserved
    if held > capacity:
        within = room - _share(held - capacity, held, room)
        # Up to the capacity the fill is whole; what of it is reserved, shows at its end.
        busy_within = min(busy, capacity)
        widths = _split(busy_within, capacity - busy_within, within)
        widths[OVER] = room - sum(widths.values())
    else:
        widths = _split(busy, reserved, _share(held, capacity, room))
        widths[FREE] = room - sum(widths.values())
    parts, x = [], start
    for kind, width in widths.items():
        if width:
            parts.append(Part(kind=kind, x=x, width=width))
            x += width
    return tuple(parts)


def _split(busy: int, reserved: int, width: int) -> dict[str, int]:
    if not reserved:
        return {BUSY: width}
    if not busy:
        return {RESERVED: width}
    # Each of the two keeps its 2 px, even where the whole is narrower.
    width = max(width, 2 * VISIBLE_MIN)
    share = _share(busy, busy + reserved, width)
    return {BUSY: share, RESERVED: width - share}


def _share(part: int, whole: int, width: int) -> int:
    if part <= 0:
        return 0
    if part >= whole:
        return width
    # Half a pixel rounds up, in whole numbers: no float, no surprise.
    exact = (2 * part * width + whole) // (2 * whole)
    return min(max(exact, VISIBLE_MIN), width - VISIBLE_MIN)


def _tick(parts: tuple[Part, ...], *, segmented: bool) -> int | None:
    first_over = next((part.x for part in parts if part.kind == OVER), None)
    if first_over is None:
        return None
    # Between cells the tick fills the gap; on a fill it straddles the edge.
    return first_over - (GAP if segmented else GAP // 2)
