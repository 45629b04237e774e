"""The revision of a limit, by which live screens see that there is news: one step for each recorded change."""

from collections.abc import Callable

import pytest

from limits import engine, queries
from limits.rules import HOUR, MINUTE
from tests.engine.steps import OPERATOR, hold, wait

type Declare = Callable[..., engine.Synced]


def revision(limit: str = "a") -> int:
    found = queries.limit(limit)
    assert found is not None
    return found.revision


def steps(change: Callable[[], object]) -> tuple[int, int]:
    """Return by how much a change moves the revision, and how many entries it adds to the record."""
    before, recorded = revision(), len(queries.changes().items)
    change()
    return revision() - before, len(queries.changes().items) - recorded


def edit(**values: int) -> Callable[[], object]:
    return lambda: engine.edit("a", actor=OPERATOR, **values)


def reset(field: str) -> Callable[[], object]:
    return lambda: engine.reset("a", field, actor=OPERATOR)


def test_an_override_equal_to_the_value_in_force_is_news_and_so_is_its_reset(declare: Declare) -> None:
    """S5, O5: the tag comes and goes, though no number changes."""
    declare(a=(2, HOUR))
    for same, field in (({"capacity": 2}, "capacity"), ({"max_hold": HOUR}, "max_hold")):
        assert steps(edit(**same)) == (1, 1)
        assert steps(edit(**same)) == (0, 0)
        assert steps(reset(field)) == (1, 1)
        assert steps(reset(field)) == (0, 0)
    assert steps(edit(capacity=2, max_hold=HOUR)) == (1, 2)


@pytest.mark.parametrize("queued", [0, 3])
def test_each_change_of_a_person_moves_the_revision_once(declare: Declare, queued: int) -> None:
    """S5, F4: whether it starts runs or not."""
    declare(a=(1, HOUR))
    hold("a")
    for _ in range(queued):
        wait("a")
    assert steps(edit(capacity=2)) == (1, 1)
    assert steps(edit(capacity=3, max_hold=MINUTE)) == (1, 2)
    assert steps(lambda: engine.pause("a", actor=OPERATOR)) == (1, 1)
    assert steps(lambda: engine.pause("a", actor=OPERATOR)) == (0, 0)
    assert steps(edit(capacity=4)) == (1, 1)
    assert steps(lambda: engine.resume("a", actor=OPERATOR)) == (1, 1)
    assert steps(reset("capacity")) == (1, 1)
    assert steps(reset("max_hold")) == (1, 1)


def test_each_limit_that_a_deploy_changes_moves_its_revision_once(declare: Declare) -> None:
    """S5, D6: new, changed, gone, back; one that stays as it is stays at its revision."""
    declare(a=(1, HOUR), b=(1, HOUR))
    assert (revision("a"), revision("b")) == (1, 1)
    hold("a")
    wait("a")
    assert steps(lambda: declare(a=(2, MINUTE), b=(1, HOUR))) == (1, 2)
    assert steps(lambda: declare(a=(2, MINUTE), b=(1, HOUR))) == (0, 0)
    assert steps(lambda: declare(b=(1, HOUR))) == (1, 1)
    assert steps(lambda: declare(a=(2, MINUTE), b=(1, HOUR))) == (1, 1)
    assert revision("b") == 1


def test_an_override_hides_no_change_of_the_declared_value(declare: Declare) -> None:
    """S5, O1: the declared value shows underneath."""
    declare(a=(1, HOUR))
    engine.edit("a", actor=OPERATOR, capacity=5)
    assert steps(lambda: declare(a=(2, HOUR))) == (1, 1)
