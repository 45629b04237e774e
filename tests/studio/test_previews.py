"""S4: what an edit will do is said before it is done, and is what the engine then does."""

import pytest

from limits import rules
from studio import previews
from tests.studio.read import text
from tests.studio.states import ago, ahead, limit

M = rules.MINUTE


def said(found: list[previews.Preview]) -> list[str]:
    return [text(preview.text) for preview in found]


def test_a_raise_says_how_many_runs_start_and_how_many_slots_stay_free() -> None:
    """F4: as many waiters as fit are granted at once."""
    found = previews.capacity(limit(20, busy=20, waiting=7), 30, None)
    assert said(found) == ["20 to 30. 7 waiting runs start at once. 3 slots stay free."]
    assert not any(preview.warning for preview in found)


def test_a_raise_to_just_enough_leaves_nothing_to_say_of_free_slots() -> None:
    """F4: as many waiters as fit are granted at once."""
    assert said(previews.capacity(limit(20, busy=20, waiting=1), 21, None)) == [
        "20 to 21. 1 waiting run starts at once."
    ]


def test_a_raise_that_is_too_small_for_all_says_how_many_of_how_many() -> None:
    """F4: in order, as many as fit."""
    assert said(previews.capacity(limit(20, busy=20, waiting=41), 30, None)) == [
        "20 to 30. Starts 10 of 41 waiting runs at once."
    ]


def test_a_raise_with_nobody_waiting_says_what_is_free() -> None:
    """S4: what the change will do."""
    assert said(previews.capacity(limit(20, busy=17), 30, None)) == ["20 to 30. No run is waiting. 13 slots are free."]


def test_a_raise_of_a_paused_limit_starts_nothing() -> None:
    """O6: a pause is independent of capacity."""
    assert said(previews.capacity(limit(20, busy=20, waiting=7, paused=True), 30, None)) == [
        "20 to 30. The limit is paused: no run starts until it is resumed."
    ]


def test_a_raise_that_stays_below_what_is_held_starts_nothing_and_is_no_warning() -> None:
    """O2: new grants only while held is below the capacity."""
    found = previews.capacity(limit(10, busy=14, waiting=3), 12, ahead(minutes=19))
    assert said(found) == [
        "10 to 12. Nothing is taken back. 3 busy slots must finish before the next run starts."
        " That is by 14:51:23 UTC at the latest."
    ]
    assert not found[0].warning


def test_a_raise_to_exactly_what_is_held_starts_nothing() -> None:
    """O2: new grants only while held is below the capacity."""
    assert said(previews.capacity(limit(10, busy=14, waiting=3), 14, None)) == [
        "10 to 14. 14 in use, so no run starts yet."
    ]


@pytest.mark.parametrize("new", [15, 12])
def test_lowering_to_what_is_in_use_or_more_changes_nothing_for_now(new: int) -> None:
    """O2: lowering takes nothing back."""
    found = previews.capacity(limit(20, busy=10, reserved=2), new, None)
    assert said(found) == [f"20 to {new}. 12 in use, so nothing waits longer now."]
    assert not found[0].warning


def test_lowering_below_what_is_held_warns_and_counts_one_more_than_it_is_over() -> None:
    """O2: handed out is only below capacity, so 20 of 15 must become 14."""
    found = previews.capacity(limit(20, busy=20, waiting=7), 15, ahead(minutes=19))
    assert said(found) == [
        "20 to 15. Nothing is taken back. 6 busy slots must finish before the next run starts."
        " That is by 14:51:23 UTC at the latest."
    ]
    assert found[0].warning


def test_no_time_is_promised_where_the_expiry_is_unknown_or_has_passed() -> None:
    """S4: a bound that is already broken is no bound."""
    for expiry in (None, ago(minutes=1)):
        found = previews.capacity(limit(20, busy=19, reserved=1), 20 - 1, expiry)
        assert said(found) == ["20 to 19. Nothing is taken back. 2 held slots must finish before the next run starts."]


@pytest.mark.parametrize(
    ("new", "times"),
    [(200, "10 times"), (2_000, "100 times"), (2_001, "more than 100 times")],
)
def test_a_jump_of_ten_times_or_more_asks_whether_the_provider_allows_it(new: int, times: str) -> None:
    """S4: a typed zero too many is asked about once."""
    found = previews.capacity(limit(20), new, None)
    assert said(found)[1] == f"20 to {new:,} is {times} the present capacity. Check the provider allows it."
    assert [preview.warning for preview in found] == [False, True]


def test_a_raise_of_less_than_ten_times_is_no_jump() -> None:
    """S4: the bound is ten times."""
    assert not any(preview.warning for preview in previews.capacity(limit(20), 199, None))


def test_a_max_hold_says_that_held_slots_keep_their_expiry() -> None:
    """O3: read once per slot, at grant."""
    found = previews.max_hold(limit(busy=20), 120 * M, ahead(minutes=42))
    assert said(found) == ["45m to 2h for new slots. 20 busy slots keep their expiry (latest 15:14:08 UTC)."]
    assert said(previews.max_hold(limit(busy=1), M, None)) == ["45m to 1m for new slots. 1 busy slot keeps its expiry."]
    assert said(previews.max_hold(limit(), 120 * M, None)) == ["45m to 2h for new slots. No slot is busy now."]


def test_the_declared_value_is_still_an_override() -> None:
    """O5: an override equal to the declared value is an override."""
    overridden = limit(30, declared_capacity=20)
    assert said(previews.same_as_declared(overridden, "capacity", 20)) == [
        "Same as the declared value. This still stores an override. Use Reset to follow the config."
    ]
    assert previews.same_as_declared(overridden, "capacity", 25) == []


def test_an_unchanged_value_does_nothing() -> None:
    """O1: an unchanged save stores nothing."""
    assert previews.capacity(limit(20), 20, None) == []
    assert previews.max_hold(limit(), 45 * M, None) == []
    assert previews.same_as_declared(limit(20), "capacity", 20) == []


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (limit(20, busy=18, waiting=1, paused=True), "1 waiting run starts at once. 1 slot stays free."),
        (limit(20, busy=18, waiting=5, paused=True), "Starts 2 of 5 waiting runs at once."),
        (limit(20, busy=20, waiting=5, paused=True), "No slot is free: 5 waiting runs start when slots free."),
        (limit(20, busy=20, paused=True), "No run is waiting. New requests get a slot again."),
    ],
)
def test_resuming_says_who_starts_at_once(state: previews.LimitState, sentence: str) -> None:
    """O6: resume grants at once."""
    assert text(previews.resumed(state)) == sentence
