"""How numbers, durations and instants read on a page, in the reader's language.

Durations come in as whole milliseconds; `limits.durations` writes those that are the same in every language.
"""

import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

from django.utils.formats import date_format, number_format
from django.utils.translation import get_language, ngettext

from limits.rules import DAY, HOUR, MINUTE, SECOND

NOTHING: Final = "–"

_NAME_MAX: Final = 40
_MILLISECOND: Final = timedelta(milliseconds=1)

# Kept as they are: a joiner between two signs beyond ASCII (emoji, Persian, Indic scripts), the tags of a flag.
_JOINED: Final = re.compile(
    r"(?<=[^\0-\x7f])[\u200c\u200d](?=[^\0-\x7f])|(?<=\U0001f3f4)[\U000e0061-\U000e007a]+\U000e007f"
)
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp", "Zs"})
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that draw nothing."""

_UNITS: Final = ((DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s"))

_GROUPED_FROM: Final = {"es": 10_000}
"""Below that a language keeps the figures of a number together, as browsers do too."""


def grouped(number: int) -> str:
    """Write a whole number with its thousands apart: "100,000", in Spanish "100.000"."""
    return (
        number_format(number, force_grouping=True)
        if number >= _GROUPED_FROM.get(get_language() or "", 0)
        else str(number)
    )


def shortened(text: str) -> str:
    """Write a name short enough for a sentence that names two; what is left out shows as "…"."""
    return text if len(text) <= _NAME_MAX else f"{text[: _NAME_MAX - 1].rstrip()}…"


def unseen(text: str) -> Iterator[tuple[str, bool]]:
    """Cut a text into parts; true with those that stand for a sign that nobody would see: "<U+202E>"."""
    plain, kept = "", {at for found in _JOINED.finditer(text) for at in range(*found.span())}
    for at, sign in enumerate(text):
        if at in kept or not _is_unseen(sign):
            plain += sign
            continue
        yield plain, False
        yield f"<U+{ord(sign):04X}>", True
        plain = ""
    yield plain, False


def milliseconds(start: datetime, end: datetime) -> int:
    """Return how long it is from `start` to `end`; 0 if `end` is earlier."""
    return max(0, (end - start) // _MILLISECOND)


def duration_short(length: int) -> str:
    """Write a figure in its largest unit alone: "14s", "26m", "23h", "2d"."""
    size, letter = next((unit for unit in _UNITS if length >= unit[0]), _UNITS[-1])
    return f"{length // size}{letter}"


def minute(at: datetime, now: datetime) -> str:
    """Write an instant in UTC to the minute: "14:32 UTC" on the day of `now`, else "1 Dec 14:32 UTC"."""
    at = at.astimezone(UTC)
    same_day = at.date() == now.astimezone(UTC).date()
    return f"{at:%H:%M} UTC" if same_day else f"{_day(at.date(), 'MONTH_DAY_FORMAT', get_language())} {at:%H:%M} UTC"


def tick(at: datetime) -> str:
    """Write an instant in UTC under an axis: "14:32", and "2 Dec" where a day begins."""
    at = at.astimezone(UTC)
    return f"{at:%H:%M}" if at.hour or at.minute else _day(at.date(), "MONTH_DAY_FORMAT", get_language())


def words(length: int) -> str:
    """Write a setting out, whole: "1 hour 30 minutes"."""
    days, rest = divmod(length, DAY)
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    seconds, rest = divmod(rest, SECOND)
    said = [
        ngettext("{n} day", "{n} days", days).format(n=days) if days else "",
        ngettext("{n} hour", "{n} hours", hours).format(n=hours) if hours else "",
        ngettext("{n} minute", "{n} minutes", minutes).format(n=minutes) if minutes else "",
        ngettext("{n} second", "{n} seconds", seconds).format(n=seconds) if seconds or not length else "",
        ngettext("{n} millisecond", "{n} milliseconds", rest).format(n=rest) if rest else "",
    ]
    return " ".join(filter(None, said))


def clock(at: datetime, *, now: datetime | None = None) -> str:
    """Write an instant in UTC: "14:32:08 UTC" on the day of `now`, else "1 Dec 14:32 UTC"."""
    at, now = at.astimezone(UTC), now.astimezone(UTC) if now else None
    if now is not None and at.date() == now.date():
        return f"{at:%H:%M:%S} UTC"
    day = _day(
        at.date(), "DATE_FORMAT" if now is not None and at.year != now.year else "MONTH_DAY_FORMAT", get_language()
    )
    return f"{day} {at:%H:%M} UTC"


def clock_full(at: datetime) -> str:
    """Write an instant in UTC with all its parts: "2 Dec 2026, 14:32:08 UTC"."""
    at = at.astimezone(UTC)
    return f"{_day(at.date(), 'DATE_FORMAT', get_language())}, {at:%H:%M:%S} UTC"


def clock_machine(at: datetime) -> str:
    """Write an instant for programs: "2026-12-02T14:32:08.250Z"."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@lru_cache(maxsize=1_000)
def _day(day: date, form: str, language: str | None) -> str:
    # A page has hundreds of instants, and nearly all of them on a day or two.
    return date_format(day, form)


def _is_unseen(sign: str) -> bool:
    return sign in _BLANK or (sign != " " and unicodedata.category(sign) in _UNSEEN)
