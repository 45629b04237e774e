"""How numbers, durations and instants read on a page.

Durations come in as whole milliseconds; `limits.durations` and `limits.wording` write what the command line shares.
"""

import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

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


def shortened(text: str) -> str:
    """Write a name short enough for a sentence that names two; what is left out shows as "…"."""
    return text if len(text) <= _NAME_MAX else f"{text[: _NAME_MAX - 1].rstrip()}…"


def unseen(text: str) -> Iterator[tuple[str, bool]]:
    """Cut a text into parts; true with those that stand for a sign that nobody would see: "<U+202E>"."""
    if text.isascii() and text.isprintable():
        yield text, False
        return
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
    return f"{at:%H:%M} UTC" if same_day else f"{at.day} {at:%b} {at:%H:%M} UTC"


def tick(at: datetime) -> str:
    """Write an instant in UTC under an axis: "14:32", and "2 Dec" where a day begins."""
    at = at.astimezone(UTC)
    return f"{at:%H:%M}" if at.hour or at.minute else f"{at.day} {at:%b}"


def clock_full(at: datetime) -> str:
    """Write an instant in UTC with all its parts: "2 Dec 2026, 14:32:08 UTC"."""
    at = at.astimezone(UTC)
    return f"{at.day} {at:%b %Y, %H:%M:%S} UTC"


def clock_machine(at: datetime) -> str:
    """Write an instant for programs: "2026-12-02T14:32:08.250Z"."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_unseen(sign: str) -> bool:
    return sign in _BLANK or (sign != " " and unicodedata.category(sign) in _UNSEEN)
