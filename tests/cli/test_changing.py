"""`limits capacity`, `max-hold`, `pause`, `resume`: what they change, say and refuse."""

import json
from collections.abc import Callable

import pytest

from limits import engine, queries, rules
from limits.engine import Actor
from limits.pool import Database
from limits.queries import LimitState
from tests.cli.conftest import Cli, ask

BEN = Actor(name="ben\u202e", source="studio")

type Declare = Callable[..., engine.Synced]


def known(limit: str) -> LimitState:
    """Return a limit's state."""
    found = queries.limit(limit)
    assert found is not None
    return found


def test_raising_a_capacity_starts_waiting_runs_and_says_so(cli: Cli, declare: Declare) -> None:
    """C1, F4, case 45: the new value, where it comes from, how many runs started."""
    declare(calls=(1, rules.HOUR))
    ask("calls", 5)
    done = cli("capacity", "calls", "4", "--reason", "two more lines")
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout == "Capacity of calls is now 4 (override; declared 1). 3 waiting runs started. 1 still waits.\n"
    (change, *_) = queries.changes(limit="calls").items
    assert (change.kind, change.before, change.after, change.source, change.reason) == (
        "capacity", "1", "4", "cli", "two more lines",
    )  # fmt: skip


def test_lowering_a_capacity_takes_nothing_back_and_says_so(cli: Cli, declare: Declare) -> None:
    """O2: held slots stay."""
    declare(calls=(5, rules.HOUR))
    ask("calls", 6)
    said = cli("capacity", "calls", "2").stdout
    assert said == (
        "Capacity of calls is now 2 (override; declared 5). 1 waiting run still waits."
        " Nothing is taken back: 5 are held, 3 over.\n"
    )


def test_an_override_ends_with_reset(cli: Cli, declare: Declare) -> None:
    """O1, O5: the value follows the config again; a second reset says that nothing changed."""
    declare(calls=(2, rules.HOUR))
    assert "is now 2 (override; declared 2)" in cli("capacity", "calls", "2").stdout
    assert known("calls").capacity.override == 2
    assert cli("capacity", "calls", "reset").stdout == "Capacity of calls is now 2 (declared).\n"
    done = cli("capacity", "calls", "reset")
    assert done.code == 0
    assert done.stdout == "Nothing changed: there is no override to reset. Capacity of calls is now 2 (declared).\n"


def test_the_same_override_again_changes_nothing(cli: Cli, declare: Declare) -> None:
    """O5: and is not recorded twice."""
    declare(calls=(2, rules.HOUR))
    cli("capacity", "calls", "3")
    before = len(queries.changes(limit="calls").items)
    assert cli("capacity", "calls", "3").stdout.startswith("Nothing changed: that is the override already. ")
    assert len(queries.changes(limit="calls").items) == before


def test_a_max_hold_is_overridden_and_reset(cli: Cli, declare: Declare) -> None:
    """C1, O3: written as the formatter writes it, whatever was typed; for later grants only."""
    declare(calls=(1, 45 * rules.MINUTE))
    said = cli("max-hold", "calls", " 90m ").stdout
    assert said == "Max hold of calls is now 1h30m (override; declared 45m), for slots granted from now on.\n"
    assert known("calls").max_hold.override == 90 * rules.MINUTE
    said = cli("max-hold", "calls", "reset").stdout
    assert said == "Max hold of calls is now 45m (declared), for slots granted from now on.\n"
    assert cli("max-hold", "calls", "reset").stdout.startswith("Nothing changed: there is no override to reset. ")


def test_the_largest_legal_values_are_stored_and_shown(cli: Cli, declare: Declare) -> None:
    """D2, case 41: 100,000 slots; 30 days, in whatever unit they were typed."""
    declare(calls=(1, rules.HOUR))
    assert "is now 100,000 (override" in cli("capacity", "calls", "100000").stdout
    for text in ("30d", "720h", "43200m"):
        assert "is now 30d (override" in cli("max-hold", "calls", text).stdout
    ask("calls")
    (slot,) = json.loads(cli("slots", "calls", "--json").stdout)["slots"]
    assert slot["state"] == "busy"


def test_pause_and_resume_say_what_happens_to_the_queue(cli: Cli, declare: Declare) -> None:
    """O6: nothing is handed out; resuming starts as many as fit."""
    declare(calls=(2, rules.HOUR))
    first, _ = ask("calls", 2)
    said = cli("pause", "calls", "--reason", "partner\u202e down").stdout
    assert "calls is paused by " in said
    assert r"(partner\u202e down): no slot is handed out." in said
    ask("calls", 2)
    engine.release(first, actor=BEN)
    assert cli("pause", "calls").stdout.startswith("Nothing changed. calls is paused by ")
    assert cli("resume", "calls").stdout == "calls hands out slots. 1 waiting run started. 1 still waits.\n"
    assert cli("resume", "calls").stdout == "Nothing changed. calls hands out slots. 1 waiting run still waits.\n"


def test_every_change_prints_the_limits_new_state_as_json(cli: Cli, declare: Declare) -> None:
    """C1: as in the list."""
    declare(calls=(2, rules.HOUR))
    for arguments in (
        ("capacity", "calls", "3"),
        ("max-hold", "calls", "2h"),
        ("pause", "calls"),
        ("resume", "calls"),
        ("capacity", "calls", "reset"),
        ("max-hold", "calls", "reset"),
        ("max-hold", "calls", "reset"),
    ):
        done = cli(*arguments, "--json")
        assert (done.code, done.stderr) == (0, "")
        assert json.loads(done.stdout) == json.loads(cli("list", "--json").stdout)[0]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("0", "calls.capacity: must be at least 1, got 0; to hand out no slots, pause the limit"),
        ("-1", "calls.capacity: must be 1 to 100,000, got '-1'"),
        ("100001", "calls.capacity: must be 1 to 100,000, got 100,001"),
        ("9" * 5_000, "calls.capacity: must be 1 to 100,000, got '9999"),
        ("1_000", "calls.capacity: must be a whole number like 20, got '1_000'"),
        ("\uff11\uff10", "calls.capacity: must be a whole number like 20"),
        ("\u00b2", "calls.capacity: must be a whole number like 20"),
        ("+5", "calls.capacity: must be a whole number like 20, got '+5'"),
        ("5.0", "calls.capacity: must be a whole number, got '5.0'"),
        ("-.5", "calls.capacity: must be a whole number, got '-.5'"),
        ("1e3", "calls.capacity: must be a whole number like 20, got '1e3'"),
        ("", "calls.capacity: is empty; write a whole number like 20"),
        ("rest", "calls.capacity: must be a whole number like 20, got 'rest'"),
    ],
    ids=lambda text: ascii(text)[:20],
)
def test_a_capacity_out_of_range_or_form_is_refused(cli: Cli, declare: Declare, typed: str, said: str) -> None:
    """Cases 32 and 38: limit, field and bound; exit code 1; the old value stays."""
    declare(calls=(2, rules.HOUR))
    done = cli("capacity", "calls", typed)
    assert said in done.refusal
    assert done.code == 1
    assert known("calls").capacity.override is None


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("90000", "needs a unit"),
        ("0", "needs a unit"),
        ("0s", "must be more than 0, got '0s'"),
        ("-5m", "must not be negative, got '-5m'"),
        ("3 months", "must be a duration like"),
        ("1M", "must be a duration like"),
        ("45M", "must be a duration like"),
        ("5 m s", "must be a duration like"),
        ("m", "must be a duration like"),
        ("", "is empty"),
        ("\u0664\u0665m", "must be a duration like"),
        ("1h1h", "must name each unit once"),
        ("1.5h", "must use whole numbers"),
        ("30d1s", "must be at most 30d, got '30d1s'"),
        ("31d", "must be at most 30d, got '31d'"),
    ],
)
def test_a_max_hold_that_could_be_misread_is_refused(cli: Cli, declare: Declare, typed: str, said: str) -> None:
    """Cases 39 and 41: the same parser as everywhere; limit, field and bound; exit code 1; the old value stays."""
    declare(calls=(2, rules.HOUR))
    done = cli("max-hold", "calls", typed)
    assert done.refusal.startswith(f"calls.max_hold: {said}")
    assert done.code == 1
    assert known("calls").max_hold.override is None


def test_what_begins_with_a_minus_and_a_digit_is_never_taken_for_an_option(cli: Cli, declare: Declare) -> None:
    """D1, O7: the name of a limit, a value and a reason each stay where they were typed."""
    declare(**{"-5": (1, rules.HOUR), "7": (1, rules.HOUR)})
    assert cli("capacity", "-5", "7", "--json").code == 0
    assert (known("-5").capacity.override, known("7").capacity.override) == (7, None)
    assert cli("capacity", "--reason", "-5 lines", "7", "3").code == 0
    assert cli("max-hold", "7", "2h", "--reason", "-2 hours").code == 0
    assert cli("pause", "-5", "--reason=-1").code == 0
    reasons = [change.reason for change in queries.changes().items if change.source == "cli"]
    assert reasons == ["-1", "-2 hours", "-5 lines", None]
    assert cli("slots", "-5", "--json").code == 0
    assert cli("capacity", "--reason", "-5", "7", "-2").refusal == "7.capacity: must be 1 to 100,000, got '-2'"
    assert cli("capacity", "7", "5", "--jsn").code == 2


def test_a_limit_kept_locked_elsewhere_is_told_from_a_box_that_is_away(
    cli: Cli, declare: Declare, box: Database
) -> None:
    """C2: the box answers, only not for this limit; nothing is changed, and lists go on."""
    declare(calls=(1, rules.HOUR))
    with box.connection() as other:
        other.execute("SELECT pg_advisory_lock(1818846573, id) FROM limits.limit")
        assert "another session keeps the limit locked; nothing was changed" in cli("capacity", "calls", "3").refusal
        assert cli("list").code == 0
        other.execute("SELECT pg_advisory_unlock_all()")
    assert known("calls").capacity.override is None


@pytest.mark.parametrize(
    "arguments",
    [("capacity", "nope", "5"), ("capacity", "nope", "reset"), ("max-hold", "nope", "2h"), ("max-hold", "nope", "reset"),
     ("pause", "nope"), ("resume", "nope"), ("capacity", "Calls", "5"), ("pause", "calls\n")],
)  # fmt: skip
def test_a_change_of_what_does_not_exist_is_refused(cli: Cli, declare: Declare, arguments: tuple[str, ...]) -> None:
    """Case 45: exit code 1, nothing is created."""
    declare(calls=(2, rules.HOUR))
    recorded = len(queries.changes().items)
    for more in ([], ["--json"]):
        done = cli(*arguments, *more)
        assert "is not declared in stackbone_config.py" in done.refusal
        assert done.code == 1
    assert [limit.name for limit in queries.limits()] == ["calls"]
    assert len(queries.changes().items) == recorded


def test_a_limit_no_longer_declared_takes_no_override(cli: Cli, declare: Declare) -> None:
    """D8: it only empties; but its override can be ended."""
    declare(calls=(1, rules.HOUR))
    cli("capacity", "calls", "3")
    ask("calls")
    declare()
    assert "limit 'calls' is no longer declared" in cli("capacity", "calls", "5").refusal
    assert cli("capacity", "calls", "reset").stdout == "Capacity of calls is now 1 (declared).\n"


def test_a_reason_that_is_too_long_changes_nothing(cli: Cli, declare: Declare) -> None:
    """O7: at most 500 characters, no controls."""
    declare(calls=(1, rules.HOUR))
    for reason in ("x" * 501, "a\x1bb"):
        assert "reason: must " in cli("capacity", "calls", "3", "--reason", reason).refusal
        assert "reason: must " in cli("pause", "calls", "--reason", reason).refusal
    assert known("calls").capacity.override is None
    assert not known("calls").paused
