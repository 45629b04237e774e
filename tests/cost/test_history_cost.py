"""What a range of history costs does not depend on how many slots there were."""

import statistics
import time
from collections.abc import Callable, Iterator

import pytest

from limits import engine, queries
from limits.pool import Database
from limits.queries import RANGES
from tests.cost.conftest import Boxes, drop_box, make_box
from tests.postgres import Server

BAR = 3
ROUNDS = 60
FEW, MANY = 1_000, 1_000_000

# As if they had been asked for evenly over eight days, each held for a second, some taken back at its max hold.
ENDED = """
    WITH l AS (SELECT x.id FROM limits.limit x WHERE x.name = 'other'),
    made AS (
        INSERT INTO limits.slot (
            id, limit_id, state, number, key, asked_at, times_out_at, granted_at, confirmed_at, expires_at,
            ended_at, ended_by
        )
        SELECT gen_random_uuid(), l.id, CASE WHEN n %% 10 = 0 THEN 'expired' ELSE 'released' END, n, 'ended-' || n,
               at, at + interval '1 day', at, at, at + interval '1 hour', at + interval '1 second', 'tests'
        FROM l, generate_series(1, %(count)s) n,
             LATERAL (SELECT limits.clock() - interval '8 days' * (n - 1) / %(count)s - interval '2 minutes' AS at) a
        RETURNING number
    )
    UPDATE limits.limit x SET last_number = %(count)s, changed_at = limits.clock() FROM l WHERE x.id = l.id
    RETURNING x.id
"""


@pytest.fixture(scope="module")
def ended(server: Server) -> Iterator[Boxes]:
    """Lend a box in which 1,000 slots have ended within eight days, and one with 1,000,000; all written down."""
    both = Boxes(make_box(server, "test_cost_few_ended"), make_box(server, "test_cost_many_ended"))
    for db, count in ((both.empty, FEW), (both.loaded, MANY)):
        db.fetch(ENDED, {"count": count})
        with db.connect() as connection:
            connection.execute("VACUUM ANALYZE limits.slot")
        while engine.roll_up(db=db):
            pass
    yield both
    drop_box(server, both.empty, "test_cost_few_ended")
    drop_box(server, both.loaded, "test_cost_many_ended")


type Read = Callable[[Database], object]


def ratio(boxes: Boxes, read: Read) -> float:
    """Return the median time among a million ended slots over that among a thousand, the two taken turn by turn."""
    seen: dict[Database, list[float]] = {boxes.empty: [], boxes.loaded: []}
    for _ in range(ROUNDS):
        for db, times in seen.items():
            begun = time.perf_counter()
            read(db)
            times.append(time.perf_counter() - begun)
    few, many = (statistics.median(times) for times in seen.values())
    print(f"{few * 1_000:.2f} ms with {FEW:,}, {many * 1_000:.2f} ms with {MANY:,}: {many / few:.2f} times")
    return many / few


@pytest.mark.parametrize("key", RANGES)
def test_a_range_costs_at_most_three_times_as_much_among_a_million_ended_slots(ended: Boxes, key: str) -> None:
    """From the last hour to the last seven days, marks included."""

    def read(db: Database) -> object:
        return queries.history("other", RANGES[key], db=db)

    # Something else may have run on the machine just then: a real fault shows again.
    assert ratio(ended, read) <= BAR or ratio(ended, read) <= BAR


def test_the_lists_last_hours_cost_at_most_three_times_as_much(ended: Boxes) -> None:
    """The sparklines of all limits, in one read."""

    def read(db: Database) -> object:
        return queries.sparklines(["brief", "held", "other", "queue"], db=db)

    assert ratio(ended, read) <= BAR or ratio(ended, read) <= BAR


def test_all_that_ended_is_in_the_history(ended: Boxes) -> None:
    """The boxes are what they seem: seven eighths of all expiries lie in seven days, give or take a step."""
    for db, count in ((ended.empty, FEW), (ended.loaded, MANY)):
        history = queries.history("other", RANGES["7d"], db=db)
        assert history is not None
        assert None not in history.points
        expired = sum(point.expired for point in history.points if point)
        assert expired == pytest.approx(count / 10 * 7 / 8, rel=0.02)
