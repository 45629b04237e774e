"""Durations: the one strict parser for what people and programs write, and the formatters for what they read.

Between layers a duration is a whole number of milliseconds. A refusal's `code` is one of: type, empty, no_unit,
fraction, negative, order, unit, zero, too_long.
"""

import re
from datetime import timedelta
from typing import Final

from limits import rules
from limits.errors import InvalidValueError
from limits.quoting import quoted

_UNITS: Final = {"d": rules.DAY, "h": rules.HOUR, "m": rules.MINUTE, "s": rules.SECOND, "ms": 1}
_GRAMMAR: Final = re.compile(r"(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m(?!s))?(?:([0-9]+)s)?(?:([0-9]+)ms)?")
_DIGITS_MAX: Final = 15
"""More digits than any legal duration has: refused before they are read as a number."""


def parse(value: object, *, where: str, maximum: int, zero: bool = False) -> int:
    """Read a duration and return whole milliseconds, 1 (with `zero`: 0) to `maximum`.

    Takes text like `45m`, `1h30m`, `500ms`; a whole number of milliseconds; a `timedelta`. Raises `InvalidValueError`.
    """
    milliseconds = _milliseconds(value, where)
    if milliseconds < 0:
        raise InvalidValueError(where, f"must not be negative, got {_given(value)}", "negative")
    if milliseconds == 0 and not zero:
        raise InvalidValueError(where, f"must be more than 0, got {_given(value)}", "zero")
    if milliseconds > maximum:
        raise InvalidValueError(where, f"must be at most {format_setting(maximum)}, got {_given(value)}", "too_long")
    return milliseconds


def parse_max_hold(value: object, *, where: str) -> int:
    """Read a max hold (D2): more than 0, at most 30 days; raises `InvalidValueError`."""
    return parse(value, where=where, maximum=rules.MAX_HOLD_MAX)


def parse_timeout(value: object, *, where: str) -> int:
    """Read a timeout (A6): 0 to 365 days, none is the default of 24 hours; raises `InvalidValueError`."""
    if value is None:
        return rules.TIMEOUT_DEFAULT
    return parse(value, where=where, maximum=rules.TIMEOUT_MAX, zero=True)


def format_setting(milliseconds: int) -> str:
    """Write a setting as the parser reads it, like `1h30m`; never rounds."""
    parts = []
    rest = milliseconds
    for unit, length in _UNITS.items():
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def format_elapsed(milliseconds: int) -> str:
    """Write how long something has lasted: `14s`, `12m 04s`, `1h 30m`, `2d 4h`; two units at most."""
    seconds = max(0, milliseconds) // rules.SECOND
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours}h"
    if hours:
        return f"{hours}h {minutes}m"
    if minutes:
        return f"{minutes}m {seconds:02}s"
    return f"{seconds}s"


def _milliseconds(value: object, where: str) -> int:
    if isinstance(value, timedelta):
        milliseconds, rest = divmod(value, timedelta(milliseconds=1))
        if rest:
            raise InvalidValueError(where, f"must be whole milliseconds, got {quoted(value)}", "fraction")
        return milliseconds
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float):
        raise InvalidValueError(where, f"must be text like 45m or whole milliseconds, got {quoted(value)}", "fraction")
    if not isinstance(value, str):
        raise InvalidValueError(
            where, f"must be text like 45m, 2h or 1h30m, or whole milliseconds, got {quoted(value)}", "type"
        )
    return _read(value, where)


def _read(text: str, where: str) -> int:
    match = _GRAMMAR.fullmatch(text)
    if not text or match is None:
        raise _misread(text, where)
    numbers = match.groups(default="0")
    if any(len(number.lstrip("0")) > _DIGITS_MAX for number in numbers):
        raise InvalidValueError(where, f"is longer than any duration may be, got {quoted(text)}", "too_long")
    return sum(int(number.lstrip("0") or "0") * length for number, length in zip(numbers, _UNITS.values(), strict=True))


def _misread(text: str, where: str) -> InvalidValueError:
    if not text.strip():
        return InvalidValueError(where, "is empty; write a duration like 45m, 2h or 1h30m", "empty")
    got = quoted(text)
    if re.match("-[0-9]", text):
        return InvalidValueError(where, f"must not be negative, got {got}", "negative")
    if text.isascii() and text.isdigit():
        return InvalidValueError(where, f"needs a unit: s, m, h or d, like 45m, got {got}", "no_unit")
    if re.fullmatch(r"[0-9a-z]*[.,][0-9]+[a-z]*", text):
        return InvalidValueError(where, f"must use whole numbers, like 1h30m, got {got}", "fraction")
    if re.fullmatch(r"(?:[0-9]+(?:ms|[dhms]))+", text):
        return InvalidValueError(where, f"must name each unit once, from d to ms, like 1h30m, got {got}", "order")
    return InvalidValueError(where, f"must be a duration like 45m, 2h or 1h30m, got {got}", "unit")


def _given(value: object) -> str:
    return f"{quoted(value)} ms" if isinstance(value, int) else quoted(value)
