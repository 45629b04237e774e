"""The one parser of durations, and what the formatters write."""

import math
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits import durations, rules
from limits.durations import format_elapsed, format_setting, parse_max_hold, parse_timeout
from limits.errors import InvalidValueError
from limits.quoting import quoted

WHERE = 'limits["calls"].max_hold'

ACCEPTED = [
    ("45m", 45 * rules.MINUTE),
    ("2h", 2 * rules.HOUR),
    ("30d", 30 * rules.DAY),
    ("720h", 30 * rules.DAY),
    ("43200m", 30 * rules.DAY),
    ("1h30m", 90 * rules.MINUTE),
    ("90s", 90 * rules.SECOND),
    ("500ms", 500),
    ("1ms", 1),
    ("1m1ms", rules.MINUTE + 1),
    ("1d2h3m4s5ms", rules.DAY + 2 * rules.HOUR + 3 * rules.MINUTE + 4 * rules.SECOND + 5),
    ("0h45m", 45 * rules.MINUTE),
    ("0045m", 45 * rules.MINUTE),
    (90_000, 90_000),
    (2_592_000_000, 30 * rules.DAY),
    (timedelta(hours=1, minutes=30), 90 * rules.MINUTE),
    (timedelta(milliseconds=1), 1),
]

REFUSED = [
    ("", "empty"),
    ("  ", "empty"),
    ("45", "no_unit"),
    ("0", "no_unit"),
    ("90000", "no_unit"),
    ("1.5h", "fraction"),
    ("1,5h", "fraction"),
    (".5h", "fraction"),
    ("1h1.5m", "fraction"),
    ("2.0", "fraction"),
    ("-5m", "negative"),
    ("-1", "negative"),
    ("1m1h", "order"),
    ("1h1h", "order"),
    ("1ms1s", "order"),
    ("0m", "zero"),
    ("0d0h0m0s0ms", "zero"),
    ("31d", "too_long"),
    ("30d1ms", "too_long"),
    ("30d1s", "too_long"),
    ("9" * 5_000 + "d", "too_long"),
    ("9" * 16 + "ms", "too_long"),
    ("45M", "unit"),
    ("45 m", "unit"),
    (" 45m", "unit"),
    ("45m ", "unit"),
    ("45m\n", "unit"),
    ("5 m s", "unit"),
    ("1h 30m", "unit"),
    ("1H30M", "unit"),
    ("1_000ms", "unit"),
    ("3 months", "unit"),
    ("1M", "unit"),
    ("1w", "unit"),
    ("m", "unit"),
    ("-", "unit"),
    ("+5m", "unit"),
    ("1e3ms", "unit"),
    ("\u0664\u0665m", "unit"),
    ("\uff14\uff15m", "unit"),
    ("45m\0", "unit"),
    ("inf", "unit"),
    (0, "zero"),
    (-1, "negative"),
    (2_592_000_001, "too_long"),
    (10**30, "too_long"),
    (10**5_000, "too_long"),
    (-(10**5_000), "negative"),
    (timedelta(0), "zero"),
    (timedelta(seconds=-1), "negative"),
    (timedelta(days=31), "too_long"),
    (timedelta(microseconds=1_500), "fraction"),
    (timedelta(microseconds=-1), "fraction"),
    (45.0, "fraction"),
    (math.nan, "fraction"),
    (math.inf, "fraction"),
    (True, "type"),
    (False, "type"),
    (None, "type"),
    (b"45m", "type"),
    (Decimal(45), "type"),
    (Fraction(45), "type"),
    (["45m"], "type"),
    ([10**5_000], "type"),
    (45j, "type"),
]


def read(text: str) -> tuple[int, InvalidValueError | None]:
    """Return what the text is read as, or how it is refused."""
    try:
        return parse_max_hold(text, where="x"), None
    except InvalidValueError as error:
        return 0, error


@pytest.mark.parametrize(("value", "milliseconds"), ACCEPTED, ids=quoted)
def test_a_duration_is_read_as_whole_milliseconds(value: object, milliseconds: int) -> None:
    """D3: text, whole milliseconds or a timedelta."""
    assert parse_max_hold(value, where=WHERE) == milliseconds


@pytest.mark.parametrize(("value", "code"), REFUSED, ids=quoted)
def test_whatever_else_is_refused_with_the_kind_of_its_fault(value: object, code: str) -> None:
    """D3: nothing is guessed; the error names limit and field, on one short line."""
    with pytest.raises(InvalidValueError) as caught:
        parse_max_hold(value, where=WHERE)
    said = str(caught.value)
    assert caught.value.code == code
    assert said.startswith(f"{WHERE}: ")
    assert said.isprintable()
    assert len(said) < 200


def test_a_refusal_names_the_bound_and_the_value() -> None:
    """D3: what would be right stands beside what was given."""
    with pytest.raises(InvalidValueError, match=r"must be at most 30d, got '31d'"):
        parse_max_hold("31d", where=WHERE)
    with pytest.raises(InvalidValueError, match=r"must be at most 30d, got 2,592,000,001 ms"):
        parse_max_hold(2_592_000_001, where=WHERE)
    with pytest.raises(InvalidValueError, match=r"must be at most 365d, got '366d'"):
        parse_timeout("366d", where="timeout")


@pytest.mark.parametrize(
    ("value", "milliseconds"), [(0, 0), ("0s", 0), ("0ms", 0), (timedelta(0), 0), ("365d", 365 * rules.DAY)]
)
def test_a_timeout_may_be_zero_and_up_to_a_year(value: object, milliseconds: int) -> None:
    """A6: zero tries once; 365 days at most."""
    assert parse_timeout(value, where="timeout") == milliseconds


def test_no_timeout_means_the_default() -> None:
    """D3: none is 24 hours, and zero is never taken for none."""
    assert parse_timeout(None, where="timeout") == 24 * rules.HOUR


@pytest.mark.parametrize("value", [True, False, "0", "", -1, "-1s", "365d1ms", 0.0, 366 * rules.DAY, "forever"])
def test_a_timeout_of_another_kind_is_refused(value: object) -> None:
    """D3: the same strict parser; a bool is neither 0 nor 1."""
    with pytest.raises(InvalidValueError):
        parse_timeout(value, where="timeout")


@given(st.integers(min_value=1, max_value=rules.TIMEOUT_MAX))
def test_every_setting_reads_back_as_it_was_written(milliseconds: int) -> None:
    """D3: the formatter never rounds, and writes what the parser reads."""
    written = format_setting(milliseconds)
    assert durations.parse(written, where="x", maximum=rules.TIMEOUT_MAX) == milliseconds


@given(st.text(max_size=40) | st.from_regex(r"[0-9dhms., -]{0,12}", fullmatch=True))
def test_any_text_is_read_or_refused(text: str) -> None:
    """D3: no text, whatever it holds, does anything else; what is read is echoed in the same meaning."""
    milliseconds, refused = read(text)
    if refused is not None:
        assert str(refused).isprintable()
    else:
        assert parse_max_hold(format_setting(milliseconds), where="x") == milliseconds


@given(st.lists(st.sampled_from("dhms"), min_size=1, max_size=4), st.integers(1, 9))
def test_units_are_read_in_one_order_only(units: list[str], count: int) -> None:
    """D3: out of order or repeated, they are refused."""
    text = "".join(f"{count}{unit}" for unit in units)
    in_order = units == sorted(set(units), key="dhms".index)
    _, refused = read(text)
    assert (refused.code if refused else "") == ("" if in_order else "order")


@pytest.mark.parametrize(
    ("milliseconds", "setting"),
    [
        (45 * rules.MINUTE, "45m"),
        (90 * rules.MINUTE, "1h30m"),
        (30 * rules.DAY, "30d"),
        (500, "500ms"),
        (1, "1ms"),
        (0, "0s"),
        (rules.DAY + 1, "1d1ms"),
    ],
)
def test_a_setting_is_written_short(milliseconds: int, setting: str) -> None:
    """D3: one formatter for every setting."""
    assert format_setting(milliseconds) == setting


@pytest.mark.parametrize(
    ("milliseconds", "elapsed"),
    [
        (0, "0s"),
        (999, "0s"),
        (14_000, "14s"),
        (59_999, "59s"),
        (60_000, "1m 00s"),
        (12 * rules.MINUTE + 4_000, "12m 04s"),
        (90 * rules.MINUTE, "1h 30m"),
        (rules.HOUR, "1h 0m"),
        (rules.DAY - 1, "23h 59m"),
        (2 * rules.DAY + 4 * rules.HOUR, "2d 4h"),
        (400 * rules.DAY, "400d 0h"),
        (-5_000, "0s"),
    ],
)
def test_an_elapsed_time_has_two_units_at_most(milliseconds: int, elapsed: str) -> None:
    """D3: the second formatter; never negative."""
    assert format_elapsed(milliseconds) == elapsed
