"""S2: how much time a slot or a wait has left, and from when on it is marked."""

import pytest

from limits import rules
from limits.queries import Start, Unbounded
from studio import rows
from tests.studio.states import ago, ahead, limit, slot

M = rules.MINUTE


@pytest.mark.parametrize(
    ("held", "left", "mark"),
    [
        (35, 10, "calm"),
        (36.1, 8.9, "near"),
        (36, 9, "near"),
        (2_000, 10.1, "calm"),
        (2_000, 10, "near"),
        (45, 0, "due"),
        (45, -0.5, "due"),
        (45, -0.6, "overdue"),
    ],
)
def test_a_slot_is_near_in_the_last_fifth_of_its_hold_but_for_ten_minutes_at_most(
    held: float, left: float, mark: str
) -> None:
    """F3: max hold, marked before it comes, while it is due and once it is overdue."""
    (row,) = rows.held([slot(granted_at=ago(minutes=held), expires_at=ahead(minutes=left))], limit())
    assert row.mark == mark


def test_a_reserved_slot_runs_towards_the_end_of_its_reservation() -> None:
    """Q6: two minutes to confirm."""
    (row,) = rows.held([slot("reserved", granted_at=ago(seconds=14), reserved_until=ahead(seconds=106))], limit())
    assert (row.ends_at, row.mark, row.other_hold) == (ahead(seconds=106), "calm", None)


@pytest.mark.parametrize(("minutes", "other"), [(45, None), (60, 60 * M)])
def test_a_slot_whose_hold_is_not_the_limits_says_its_own(minutes: int, other: int | None) -> None:
    """O3: max hold is read once per slot, at grant."""
    (row,) = rows.held([slot(granted_at=ago(minutes=1), expires_at=ahead(minutes=minutes - 1))], limit())
    assert row.other_hold == other


@pytest.mark.parametrize(
    ("waited", "left", "near"),
    [(20, 3, False), (27, 3, True), (1_435, 5.1, False), (1_435, 5, True), (1, -1, True)],
)
def test_a_wait_is_near_its_end_in_the_last_tenth_but_for_five_minutes_at_most(
    waited: float, left: float, near: bool
) -> None:
    """Q4: the timeout, marked before it comes."""
    asked = slot("waiting", position=1, asked_at=ago(minutes=waited), times_out_at=ahead(minutes=left))
    (row,) = rows.queued([asked], limit(), [Start(by=None, why=Unbounded.FAR, too_late=False)])
    assert row.near is near
