"""The queue of a limit: by when each of its runs starts at the latest, read in step with its pages."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain, islice, repeat
from typing import Final

from limits import rules
from limits.pool import Database
from limits.queries.of_limits import limit as limit_named
from limits.queries.of_slots import expiries, expiries_after, slots
from limits.queries.values import LimitState, SlotRow, Start, Unbounded

_PASS: Final = timedelta(milliseconds=rules.SWEEP_EVERY)
_PAGE: Final = 1_000
# Search results may lie far apart in the queue; the times of so many places are looked up for them, no more.
_PLACES_MAX: Final = 1_000
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


def latest(expiry: datetime | None, now: datetime) -> datetime | None:
    """Return by when a slot that expires then is free at the latest: one pass later; none once that has passed."""
    if expiry is None or expiry + _PASS < now:
        return None
    return expiry + _PASS


def next_move(limit: LimitState, *, db: Database | None = None) -> datetime | None:
    """Return when the slot expires whose end lets the queue move; none where none is known to."""
    if not limit.over:
        return limit.next_expiry
    found = expiries(limit.name, skip=limit.over, count=1, db=db) if limit.over < limit.busy else []
    return found[0] if found else None


def starts(limit: LimitState, page: Sequence[SlotRow], *, db: Database | None = None) -> list[Start]:
    """Return the start of each slot of a page of the queue, in one read."""
    lag = limit.over - limit.free
    places = [slot.position for slot in page if slot.position is not None]
    ends: dict[int, datetime] = {}
    if places and _unbounded(limit) is None:
        first = max(1, places[0] + lag)
        count = min(places[-1] + lag + 1 - first, _PLACES_MAX)
        found = expiries(limit.name, skip=first - 1, count=count, db=db) if count > 0 else []
        ends = dict(enumerate(found, start=first))
    return [_start(limit, slot, _end(limit, ends, (slot.position or 0) + lag)) for slot in page]


def start(slot: SlotRow, *, db: Database | None = None) -> Start | None:
    """Return the start of one waiting slot whose position is known; none for any other."""
    limit = limit_named(slot.limit, db=db) if slot.state == "waiting" and slot.position is not None else None
    return starts(limit, [slot], db=db)[0] if limit is not None else None


def queue(limit: LimitState, *, count: int = _PAGE, db: Database | None = None) -> Iterator[tuple[SlotRow, Start]]:
    """Yield the whole queue with its starts, in order: page by page, and the ends that make way in step with it."""
    lag = limit.over - limit.free
    # A place that needs no end takes what is free already.
    ends = chain(repeat(limit.now, max(0, -lag)), islice(_ends(limit, count, db), max(0, lag), None))
    for slot in every(limit.name, state="waiting", count=count, db=db):
        yield slot, _start(limit, slot, next(ends, None))


def every(limit: str, *, state: str, count: int = _PAGE, db: Database | None = None) -> Iterator[SlotRow]:
    """Yield all slots of a limit in `state`, oldest first, read page by page while the limit lives on."""
    page = slots(limit, state=state, count=count, db=db)
    yield from page.items
    while page.next is not None:
        page = slots(limit, state=state, after=page.next, place=page.items[-1].position or 0, count=count, db=db)
        yield from page.items


def _ends(limit: LimitState, count: int, db: Database | None) -> Iterator[datetime]:
    after = _EVER
    while _unbounded(limit) is None and (found := expiries_after(limit.name, after, count=count, db=db)):
        for at, slots_then in found:
            yield from repeat(at, slots_then)
        after = found[-1][0]


def _end(limit: LimitState, ends: dict[int, datetime], number: int) -> datetime | None:
    # Each end of a slot lets one run start, but for the first ones after the capacity was lowered. A place that needs
    # no end takes what is free already, at the next pass.
    return limit.now if number < 1 else ends.get(number)


def _start(limit: LimitState, slot: SlotRow, end: datetime | None) -> Start:
    why = _unbounded(limit)
    by = latest(end, limit.now) if why is None else None
    if by is None and why is None:
        why = Unbounded.FAR if end is None else Unbounded.OVERDUE
    too_late = by is not None and slot.times_out_at is not None and by > slot.times_out_at
    return Start(by=by, why=why, too_late=too_late)


def _unbounded(limit: LimitState) -> Unbounded | None:
    # While the pass may have stopped, the end of a slot promises nothing.
    if limit.paused:
        return Unbounded.PAUSED
    if limit.stuck:
        return Unbounded.STUCK
    return Unbounded.OVERDUE if limit.overdue else None
