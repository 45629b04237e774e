"""The grammar of names and of other text from outside: refused before anything is stored."""

import re
import unicodedata
from typing import Final

from limits import rules
from limits.errors import InvalidValueError
from limits.quoting import quoted

_LIMIT_NAME: Final = re.compile(rf"[a-z0-9._-]{{1,{rules.NAME_LENGTH_MAX}}}")
_REFUSED: Final = {"Cc": "control character", "Cs": "lone surrogate"}
_SLOT_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_limit_name(name: object) -> bool:
    """Tell whether a limit can be called `name`."""
    return isinstance(name, str) and _LIMIT_NAME.fullmatch(name) is not None


def is_slot_id(text: object) -> bool:
    """Tell whether `text` has the form of a slot's id."""
    return isinstance(text, str) and _SLOT_ID.fullmatch(text) is not None


def check_limit_name(name: object, *, where: str) -> None:
    """Raise `InvalidValueError` unless a limit can be called `name` (D1)."""
    if not is_limit_name(name):
        raise InvalidValueError(where, f"a name is 1 to {rules.NAME_LENGTH_MAX} of a-z 0-9 . _ -, got {quoted(name)}")


def check_label(label: object, *, where: str) -> None:
    """Raise `InvalidValueError` unless `label` is none or text fit for one (A4)."""
    _check_text(label, where=where, most=rules.LABEL_LENGTH_MAX, least=0)


def check_key(key: object, *, where: str) -> None:
    """Raise `InvalidValueError` unless `key` is text that can name a call."""
    if key is None:
        raise InvalidValueError(where, "is missing")
    check_id(key, where=where)


def check_id(text: object, *, where: str) -> None:
    """Raise `InvalidValueError` unless `text` is none or can name a run or a workflow."""
    _check_text(text, where=where, most=rules.KEY_LENGTH_MAX, least=1)


def check_run_id(run_id: object, *, where: str) -> None:
    """Raise `InvalidValueError` unless `run_id` can name a run: short enough for the keys of its calls."""
    _check_text(run_id, where=where, most=rules.RUN_ID_LENGTH_MAX, least=1)


def check_reason(reason: object, *, where: str) -> None:
    """Raise `InvalidValueError` unless `reason` is none or text fit for the record of changes."""
    _check_text(reason, where=where, most=rules.REASON_LENGTH_MAX, least=0)


def check_capacity(capacity: object, *, where: str) -> int:
    """Return `capacity` if it is a whole number in range (D2, O4), else raise `InvalidValueError`.

    Its `code` is type, fraction or range.
    """
    if isinstance(capacity, float):
        raise InvalidValueError(where, f"must be a whole number, got {quoted(capacity)}", "fraction")
    if isinstance(capacity, bool) or not isinstance(capacity, int):
        raise InvalidValueError(where, f"must be a whole number like 20, got {quoted(capacity)}", "type")
    if capacity == 0:
        raise InvalidValueError(where, "must be at least 1, got 0; to hand out no slots, pause the limit", "range")
    if not 1 <= capacity <= rules.CAPACITY_MAX:
        raise InvalidValueError(where, f"must be 1 to {rules.CAPACITY_MAX:,}, got {quoted(capacity)}", "range")
    return capacity


def parse_capacity(text: str, *, where: str) -> int:
    """Read a typed capacity, blanks around it trimmed: plain ASCII digits only (D2).

    Raises `InvalidValueError`; its `code` is empty, not_a_number, fraction or range.
    """
    digits = text.strip()
    got = quoted(digits)
    if not digits:
        raise InvalidValueError(where, "is empty; write a whole number like 20", "empty")
    if re.fullmatch(r"[+-]?(?:[0-9]+[.,][0-9]*|[.,][0-9]+)", digits):
        raise InvalidValueError(where, f"must be a whole number, got {got}", "fraction")
    if not re.fullmatch(r"-?[0-9]+", digits):
        raise InvalidValueError(where, f"must be a whole number like 20, got {got}", "not_a_number")
    # Python refuses to read numbers of more than 4,300 digits, zeros in front included.
    number = digits.lstrip("0") or "0"
    if digits.startswith("-") or len(number) > len(str(rules.CAPACITY_MAX)):
        raise InvalidValueError(where, f"must be 1 to {rules.CAPACITY_MAX:,}, got {got}", "range")
    return check_capacity(int(number), where=where)


def _check_text(text: object, *, where: str, most: int, least: int) -> None:
    if text is None:
        return
    if not isinstance(text, str):
        raise InvalidValueError(where, f"must be text, got {type(text).__name__}")
    if not least <= len(text) <= most:
        raise InvalidValueError(where, f"must have {least} to {most} characters, got {len(text):,}", "length")
    if text.isprintable():
        return
    # Of what is not printable, marks of writing direction and the like are text all the same.
    for character in text:
        if kind := _REFUSED.get(unicodedata.category(character)):
            raise InvalidValueError(where, f"must not hold the {kind} U+{ord(character):04X}", "sign")
