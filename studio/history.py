"""What is said about a limit's history: the range's links, sentences, figures, and a row for each point."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final

from django.utils.translation import gettext, ngettext

from limits import queries
from limits.queries import RANGES, History, LimitState, Point, Range
from limits.wording import grouped
from studio import charts, wording
from studio.charts import Chart
from studio.wording import minute

DEFAULT: Final = "1h"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table: one point, or a stretch of which nothing is known (`point` is none)."""

    number: int
    """The place of its point in the range, from 0."""
    at: datetime
    until: datetime
    point: Point | None
    events: list[str]
    said: str
    """The line as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number about the whole range."""

    word: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The history of a limit's page. Without `charts` there is none yet."""

    range: str
    """The range that is shown, by its word in the address."""
    ranges: list[str]
    charts: list[Chart]
    marks: list[str]
    """The kinds of marks that are drawn."""
    description: str
    notes: list[str]
    resolution: str
    figures: list[Figure]
    rows: list[Row]
    """Latest first."""
    now: datetime


def section(limit: LimitState, asked: str) -> Section:
    """Read and lay out a limit's history over the range `asked`; an unknown one is the last hour."""
    of = RANGES.get(asked, RANGES[DEFAULT])
    return told(queries.history(limit.name, of), of, limit.now)


def told(history: History | None, of: Range, now: datetime) -> Section:
    """Lay out a history as the page shows it."""
    known = [point for point in history.points if point] if history else []
    drawn = history if history and known else None
    return Section(
        range=of.key,
        ranges=list(RANGES),
        charts=[charts.chart(drawn, size) for size in charts.SIZES] if drawn else [],
        marks=[kind for kind in charts.MARKS if any(getattr(point, kind) for point in known)],
        description=_description(known, drawn.now) if drawn else "",
        notes=_notes(drawn) if drawn else [],
        resolution=_resolution(of.key),
        figures=_figures(drawn, known) if drawn else [],
        rows=_rows(drawn) if drawn else [],
        now=now,
    )


def _description(known: list[Point], now: datetime) -> str:
    busiest = max(known, key=lambda point: (point.busy, -point.capacity))
    longest = max(known, key=lambda point: point.waiting)
    busy = gettext("Busy reached %(busy)s of %(capacity)s at %(time)s.") % {
        "busy": grouped(busiest.busy),
        "capacity": grouped(busiest.capacity),
        "time": minute(busiest.at, now),
    }
    waiting = gettext("Waiting peaked at %(waiting)s at %(time)s.") % {
        "waiting": grouped(longest.waiting),
        "time": minute(longest.at, now),
    }
    return " ".join(
        (
            busy if busiest.busy else gettext("No slot was busy."),
            waiting if longest.waiting else gettext("Nobody waited."),
        )
    )


def _notes(history: History) -> list[str]:
    notes = []
    if history.begins > history.starts:
        notes.append(gettext("The history begins at %(time)s.") % {"time": minute(history.begins, history.now)})
    if history.stopped:
        notes.append(
            gettext("No data from %(start)s to %(end)s: the 15-second pass has not written it down yet.")
            % {"start": minute(history.stopped, history.now), "end": minute(history.now, history.now)}
        )
    return notes


def _resolution(key: str) -> str:
    return {
        "1h": gettext("One point per minute, the highest value of each. Times are in UTC."),
        "6h": gettext("One point every 5 minutes, the highest value of each. Times are in UTC."),
        "24h": gettext("One point every 15 minutes, the highest value of each. Times are in UTC."),
        "7d": gettext("One point every 2 hours, the highest value of each. Times are in UTC."),
    }[key]


def _figures(history: History, known: list[Point]) -> list[Figure]:
    wait = history.longest_wait
    return [
        Figure(word=gettext("Peak waiting"), value=grouped(max(point.waiting for point in known))),
        Figure(word=gettext("Longest wait"), value=wording.duration_short(wait) if wait else wording.NOTHING),
        Figure(word=gettext("Taken back at max hold"), value=grouped(sum(point.expired for point in known))),
    ]


def _rows(history: History) -> list[Row]:
    steps = [(number, point) for number, point in enumerate(history.points)]
    rows: list[Row] = []
    for known, these in groupby(steps, key=lambda step: step[1] is not None):
        # A stretch without data is one line, however long.
        alike = list(these)
        rows += [_row(history, [step]) for step in alike] if known else [_row(history, alike)]
    return rows[::-1]


def _row(history: History, steps: list[tuple[int, Point | None]]) -> Row:
    (first, point), (last, _) = steps[0], steps[-1]
    at = history.starts + history.range.step * first
    until = min(history.starts + history.range.step * (last + 1), history.now)
    events = list(_events(point)) if point else []
    return Row(number=first, at=at, until=until, point=point, events=events, said=_said(history, at, point, events))


def _said(history: History, at: datetime, point: Point | None, events: Iterable[str]) -> str:
    if point is None:
        return gettext("%(time)s: no data.") % {"time": minute(at, history.now)}
    stood = gettext("%(time)s: %(busy)s busy, %(reserved)s reserved, %(waiting)s waiting; capacity %(capacity)s.") % {
        "time": minute(at, history.now),
        "busy": grouped(point.busy),
        "reserved": grouped(point.reserved),
        "waiting": grouped(point.waiting),
        "capacity": grouped(point.capacity),
    }
    return " ".join((stood, *(f"{event}." for event in events)))


def _events(point: Point) -> Iterable[str]:
    """Say what happened, the kinds in the order of the marks."""
    if times := point.edits:
        yield ngettext("Capacity changed", "Capacity changed %(count)s times", times) % {"count": grouped(times)}
    if times := point.pauses:
        yield ngettext("Paused", "Paused %(count)s times", times) % {"count": grouped(times)}
    if times := point.resumes:
        yield ngettext("Resumed", "Resumed %(count)s times", times) % {"count": grouped(times)}
    if times := point.by_hand:
        yield ngettext("1 slot released by hand", "%(count)s slots released by hand", times) % {"count": grouped(times)}
    if times := point.expired:
        yield ngettext("1 slot taken back at max hold", "%(count)s slots taken back at max hold", times) % {
            "count": grouped(times)
        }
