"""How an error shows the value that it refuses: on one line, short, whatever the value is."""

from typing import Final

_LENGTH_MAX: Final = 60
_DIGITS_SHOWN: Final = 20


def quoted(value: object) -> str:
    """Return `value` as an error shows it: text in quotes with escapes, numbers grouped, long ones described."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _number(value)
    if isinstance(value, str) and len(value) > _LENGTH_MAX:
        return f"{value[: _LENGTH_MAX - 20]!r}... ({len(value):,} characters)"
    try:
        text = repr(value)
    except Exception:
        # A list may hold a number that Python refuses to write out, and a foreign object what it likes.
        text = f"<{type(value).__name__}>"
    if not text.isprintable():
        text = ascii(text)[1:-1]
    return text if len(text) <= _LENGTH_MAX else text[: _LENGTH_MAX - 3] + "..."


def _number(value: int) -> str:
    # Python refuses to write out numbers of more than 4,300 digits.
    digits = int(value.bit_length() * 0.30103) + 1
    if digits <= _DIGITS_SHOWN:
        return f"{int(value):,}"
    return f"a {'negative ' if value < 0 else ''}number of about {digits:,} digits"
