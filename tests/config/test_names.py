"""Names, labels, reasons and capacities: what is taken and what is refused."""

import math
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits import names, rules
from limits.errors import InvalidValueError
from limits.quoting import quoted

GOOD_NAMES = ["a", "voice-calls", "partner_api", "v1.2", "..", ".", "-", "0", "a" * 64]
BAD_NAMES = [
    "calls\n",
    "\ncalls",
    "calls ",
    " calls",
    "Calls",
    "llamadas-ñ",
    "",
    "a" * 65,
    "b" * 64 + "\n",
    "a/b",
    "\uff43\uff41\uff4c\uff4c\uff53",
    "a\0b",
    "\ud800",
    "a\u200bb",
    "a" * 100_000,
    None,
    7,
    10**5_000,
    True,
    b"calls",
    ("calls",),
]


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_a_name_of_the_grammar_is_taken(name: str) -> None:
    """D1: 1 to 64 of a-z 0-9 . _ -"""
    names.check_limit_name(name, where="limit")
    assert names.is_limit_name(name)


@pytest.mark.parametrize("name", BAD_NAMES, ids=quoted)
def test_any_other_name_is_refused(name: object) -> None:
    """D1, case 37: no trailing newline, no look-alike letters, no other type."""
    assert not names.is_limit_name(name)
    with pytest.raises(InvalidValueError) as caught:
        names.check_limit_name(name, where="limits[0]")
    said = str(caught.value)
    assert said.startswith("limits[0]: a name is 1 to 64 of a-z 0-9 . _ -")
    assert said.isprintable()
    assert len(said) < 200


GOOD_LABELS = [
    None,
    "",
    "call-17",
    "日本語",
    "e\u0301",
    "👩‍👩‍👧",
    "a\u202eb",
    "\u200f",
    "\u2028",
    "\u2029",
    "<b>&amp;'\"",
    "%_\\",
    "x" * 200,
    "😀" * 200,
]
BAD_LABELS = [
    "x" * 201,
    "😀" * 201,
    "a\nb",
    "tab\t",
    "\0",
    "\x1b[2J",
    "\x7f",
    "\x85",
    "\ud800",
    "\udfff",
]


@pytest.mark.parametrize("label", GOOD_LABELS, ids=quoted)
def test_a_label_may_be_any_text_of_two_hundred_characters(label: str | None) -> None:
    """A4: marks of writing direction are text; screens and shells show them harmlessly."""
    names.check_label(label, where="calls: label")


@pytest.mark.parametrize("label", [*BAD_LABELS, 7, b"x", True], ids=quoted)
def test_a_label_with_controls_or_lone_surrogates_is_refused(label: object) -> None:
    """A4: refused with a clear error, whose text is itself harmless."""
    with pytest.raises(InvalidValueError, match=r"^calls: label: must ") as caught:
        names.check_label(label, where="calls: label")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(("label", "said"), [("\x07", "control character U+0007"), ("\ud800", "lone surrogate U+D800")])
def test_a_refusal_says_what_it_met(label: str, said: str) -> None:
    """A4: half a character is no control character."""
    with pytest.raises(InvalidValueError, match=re.escape(f"must not hold the {said}")):
        names.check_label(label, where="calls: label")


@given(st.text(max_size=210))
def test_a_label_that_is_taken_can_be_stored_and_shown(text: str) -> None:
    """A4: valid Unicode, nothing that moves a cursor."""
    try:
        names.check_label(text, where="label")
    except InvalidValueError:
        return
    assert text.encode().decode() == text
    assert not any(unicodedata.category(character) == "Cc" for character in text)
    assert len(text) <= rules.LABEL_LENGTH_MAX


def test_a_key_must_be_there() -> None:
    """A5: a call has a name."""
    names.check_key("run-1/step-2", where="key")
    for key in (None, "", "k" * 201, "a\nb", 7):
        with pytest.raises(InvalidValueError, match=r"^key: "):
            names.check_key(key, where="key")


def test_a_reason_may_be_missing_but_not_endless() -> None:
    """O7: none, or text of at most 500 characters."""
    names.check_reason(None, where="reason")
    names.check_reason("x" * 500, where="reason")
    with pytest.raises(InvalidValueError, match="500"):
        names.check_reason("x" * 501, where="reason")


@pytest.mark.parametrize("capacity", [1, 20, 99_999, 100_000])
def test_a_capacity_in_range_is_taken(capacity: int) -> None:
    """D2: 1 to 100,000."""
    assert names.check_capacity(capacity, where="capacity") == capacity
    assert names.parse_capacity(str(capacity), where="capacity") == capacity


@pytest.mark.parametrize(
    ("capacity", "code"),
    [
        (True, "type"),
        (False, "type"),
        (None, "type"),
        ("20", "type"),
        (b"20", "type"),
        ([20], "type"),
        (2.5, "fraction"),
        (20.0, "fraction"),
        (math.nan, "fraction"),
        (math.inf, "fraction"),
        (0, "range"),
        (-1, "range"),
        (100_001, "range"),
        (10**30, "range"),
        (10**5_000, "range"),
        (-(10**5_000), "range"),
    ],
    ids=quoted,
)
def test_a_capacity_of_another_kind_is_refused(capacity: object, code: str) -> None:
    """D2, case 38: not a bool, not a float, not text; the error names field and bound."""
    with pytest.raises(InvalidValueError) as caught:
        names.check_capacity(capacity, where='limits["calls"].capacity')
    assert caught.value.code == code
    assert str(caught.value).startswith('limits["calls"].capacity: must be ')
    assert len(str(caught.value)) < 200


def test_zero_is_refused_with_the_hint_to_pause() -> None:
    """O4, case 32: zero never means "none given"."""
    for refuse in (lambda: names.check_capacity(0, where="c"), lambda: names.parse_capacity("0", where="c")):
        with pytest.raises(InvalidValueError, match="pause"):
            refuse()


@pytest.mark.parametrize("text", [" 5 ", "\t5", "5\n", "5", "0005", "0" * 5_000 + "5"], ids=quoted)
def test_blanks_around_a_typed_capacity_are_trimmed(text: str) -> None:
    """Case 38: blanks around typed text are no part of it."""
    assert names.parse_capacity(text, where="capacity") == 5


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("5.0", "fraction"),
        ("2,5", "fraction"),
        (".5", "fraction"),
        ("1_000", "not_a_number"),
        ("\uff11\uff10", "not_a_number"),
        ("\u00b2", "not_a_number"),
        ("\u0665", "not_a_number"),
        ("+5", "not_a_number"),
        ("1e3", "not_a_number"),
        ("0x10", "not_a_number"),
        ("five", "not_a_number"),
        ("5 5", "not_a_number"),
        (".", "not_a_number"),
        ("-", "not_a_number"),
        ("5\0", "not_a_number"),
        ("-1", "range"),
        ("-0", "range"),
        ("0", "range"),
        ("100001", "range"),
        ("9" * 5_000, "range"),
        ("-" + "9" * 5_000, "range"),
    ],
    ids=quoted,
)
def test_a_typed_capacity_is_plain_digits(text: str, code: str) -> None:
    """Case 38: what int() would read and people would not is refused, with the kind of fault for the form."""
    with pytest.raises(InvalidValueError) as caught:
        names.parse_capacity(text, where="calls.capacity")
    assert caught.value.code == code
    assert str(caught.value).startswith("calls.capacity: ")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200


@given(st.text(max_size=12))
def test_any_typed_text_is_a_capacity_or_refused(text: str) -> None:
    """Case 38: never anything else than a number in range or the one error."""
    try:
        capacity = names.parse_capacity(text, where="capacity")
    except InvalidValueError:
        return
    assert 1 <= capacity <= rules.CAPACITY_MAX
    assert text.strip().lstrip("0") == str(capacity)


def test_only_the_form_of_a_slot_id_is_one() -> None:
    """Case 51: anything else never reaches the database."""
    assert names.is_slot_id("019ad4b2-0c4e-7d3a-9f62-2f1e6a1b7c55")
    for text in ("", "abc", "0", "../x", "019ad4b2-0c4e-7d3a-9f62-2f1e6a1b7c55\n", "1" * 30, None, 7, "\uff10" * 36):
        assert not names.is_slot_id(text)
