"""What a config may declare, and how its faults are told."""

import math
import pickle
from datetime import timedelta
from typing import Any

import pytest

from limits import rules
from limits.engine import Declared
from limits.quoting import quoted
from stackbone import define_workspace
from stackbone.workspace import ConfigError
from tests.config.test_names import BAD_NAMES

GOOD = {"capacity": 20, "max_hold": "45m"}


def faults(**given: Any) -> tuple[str, ...]:
    """Return what define_workspace finds wrong."""
    with pytest.raises(ConfigError) as caught:
        define_workspace(**given)
    for fault in caught.value.faults:
        assert fault.isprintable()
        assert len(fault) < 300
    return caught.value.faults


def test_a_limit_is_declared_with_capacity_and_max_hold() -> None:
    """D1: the form that the documentation shows."""
    workspace = define_workspace(limits={"voice-calls": GOOD, "partner-api": {"capacity": 5, "max_hold": 600_000}})
    assert workspace.limits == {
        "voice-calls": Declared(capacity=20, max_hold=45 * rules.MINUTE),
        "partner-api": Declared(capacity=5, max_hold=10 * rules.MINUTE),
    }
    assert workspace.workflows is None
    assert workspace.processes == {}


def test_a_workspace_may_declare_nothing() -> None:
    """D1: a box without limits is a box."""
    assert define_workspace().limits == {}


@pytest.mark.parametrize("max_hold", ["30d", "720h", "43200m", 2_592_000_000, timedelta(days=30)], ids=quoted)
def test_the_largest_legal_values_are_taken(max_hold: object) -> None:
    """D2, case 41: 100,000 slots, 30 days."""
    workspace = define_workspace(limits={"a" * 64: {"capacity": 100_000, "max_hold": max_hold}})
    assert workspace.limits["a" * 64] == Declared(capacity=100_000, max_hold=30 * rules.DAY)


def test_more_limits_than_a_sync_can_lock_are_refused() -> None:
    """D4: the error names the number and the bound; one that is at the bound is fine."""
    limits = {f"limit-{n}": GOOD for n in range(rules.LIMITS_MAX)}
    assert len(define_workspace(limits=limits).limits) == 5_000
    assert faults(limits={**limits, "one-more": GOOD}) == ("limits: must be at most 5,000, got 5,001",)


@pytest.mark.parametrize("max_hold", ["30d1s", "31d", 2_592_000_001, timedelta(days=30, milliseconds=1)], ids=quoted)
def test_a_max_hold_beyond_thirty_days_is_refused(max_hold: object) -> None:
    """D2, case 41: the error names limit, field and bound."""
    (fault,) = faults(limits={"calls": {"capacity": 1, "max_hold": max_hold}})
    assert fault.startswith('limits["calls"].max_hold: must be at most 30d, got ')


@pytest.mark.parametrize("capacity", [True, 2.5, "20", math.nan, 0, -1, 100_001, 10**30, 10**5_000, None], ids=quoted)
def test_a_capacity_that_is_no_whole_number_in_range_is_refused(capacity: object) -> None:
    """D2, cases 32 and 38: the error names limit and field."""
    (fault,) = faults(limits={"calls": {"capacity": capacity, "max_hold": "45m"}})
    assert fault.startswith('limits["calls"].capacity: must be ')


@pytest.mark.parametrize(
    "max_hold",
    [
        "90000",
        "3 months",
        "1M",
        "45M",
        "5 m s",
        "m",
        "",
        "-5m",
        "0",
        "0s",
        0,
        -1,
        "\u0664\u0665m",
        "1h1h",
        "1.5h",
        None,
        True,
    ],
    ids=quoted,
)
def test_a_max_hold_that_could_be_misread_is_refused(max_hold: object) -> None:
    """D3, case 39: the error names limit and field."""
    (fault,) = faults(limits={"calls": {"capacity": 1, "max_hold": max_hold}})
    assert fault.startswith('limits["calls"].max_hold: ')


@pytest.mark.parametrize("name", BAD_NAMES, ids=quoted)
def test_a_name_outside_the_grammar_is_refused(name: object) -> None:
    """D1, case 37: the error shows the name without writing what is not printable."""
    (fault,) = faults(limits={name: GOOD})
    assert fault.startswith("limits[")
    assert fault.endswith("]: a name is 1 to 64 of a-z 0-9 . _ -")


def test_max_hold_has_no_default() -> None:
    """D2, case 39: missing it is a fault, as is a missing capacity."""
    assert faults(limits={"calls": {}}) == (
        'limits["calls"].capacity: is missing; how many slots may be held at once, like 20',
        'limits["calls"].max_hold: is missing; the longest a slot may stay held, like 45m, has no default',
    )


def test_one_error_lists_every_fault() -> None:
    """D4: every limit and field that is wrong, in the config's order, and nothing about the right one."""
    found = faults(
        limits={
            "voice-calls": {"capacity": 0, "max_hold": "45"},
            "partner-api": GOOD,
            "Calls": GOOD,
            "sms": 5,
            "fax": {"capacity": "2", "max_hold": "1h", "colour": "red"},
        },
        limit={},
        workflows="workflows/a.py",
        processes={"Traffic": ["python"]},
        name="",
    )
    assert found == (
        "limit: is not known; did you mean limits?",
        'limits["voice-calls"].capacity: must be at least 1, got 0; to hand out no slots, pause the limit',
        "limits[\"voice-calls\"].max_hold: needs a unit: s, m, h or d, like 45m, got '45'",
        'limits["Calls"]: a name is 1 to 64 of a-z 0-9 . _ -',
        'limits["sms"]: must be a dict like {"capacity": 20, "max_hold": "45m"}, got 5',
        'limits["fax"].colour: is not known; known are capacity, max_hold',
        "limits[\"fax\"].capacity: must be a whole number like 20, got '2'",
        'processes["Traffic"]: a name is 1 to 32 of a-z 0-9 _ -',
        "name: must be text of 1 to 200 printable characters, got ''",
        "workflows: must be a list of files or modules, got 'workflows/a.py'",
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("maxHold", "max_hold"),
        ("max-hold", "max_hold"),
        ("MaxHold", "max_hold"),
        ("maxhold", "max_hold"),
        ("capactiy", "capacity"),
    ],
)
def test_a_near_miss_of_a_key_is_suggested(written: str, meant: str) -> None:
    """D4: `max_hold`, for `maxHold`."""
    found = faults(limits={"calls": {written: 1}})
    assert any(fault.endswith(f": is not known; did you mean {meant}?") for fault in found)


@pytest.mark.parametrize("key", [7, None, 10**5_000, "a\nb", "\ud800", ("a",)], ids=quoted)
def test_a_key_of_any_kind_is_told_as_a_fault(key: object) -> None:
    """D4: unknown keys are faults, whatever they are."""
    (fault,) = faults(limits={"calls": {**GOOD, key: 1}})
    assert "known are capacity, max_hold" in fault


@pytest.mark.parametrize("limits", [[], "calls", 7, [("calls", GOOD)], {"calls"}, [10**5_000]], ids=quoted)
def test_limits_must_be_a_dict(limits: object) -> None:
    """D4: the error shows the right form."""
    (fault,) = faults(limits=limits)
    assert fault.startswith('limits: must be a dict like {"voice-calls": {...}}, got ')


def test_listed_workflows_are_kept_as_they_are() -> None:
    """D5: the list stands in place of the scan, also an empty one."""
    assert define_workspace(workflows=["workflows/a.py", "more.b"]).workflows == ("workflows/a.py", "more.b")
    assert define_workspace(workflows=[]).workflows == ()


@pytest.mark.parametrize("workflows", ["a.py", [1], [""], ["a\0.py"], {"a": 1}, [None]], ids=quoted)
def test_workflows_must_be_a_list_of_texts(workflows: object) -> None:
    """D4: anything else is a fault."""
    (fault,) = faults(workflows=workflows)
    assert fault.startswith("workflows: must be a list of files or modules, got ")


def test_processes_are_commands_by_name() -> None:
    """D4: names as in the log of `stackbone dev`, commands as lists."""
    workspace = define_workspace(processes={"traffic": ["python", "traffic.py"]})
    assert workspace.processes == {"traffic": ("python", "traffic.py")}


@pytest.mark.parametrize(
    ("processes", "said"),
    [
        (["traffic"], "processes: must be a dict"),
        ({"a b": ["x"]}, 'processes["a b"]: a name is'),
        ({"x" * 33: ["x"]}, "a name is"),
        ({7: ["x"]}, "processes[7]: a name is"),
        ({"worker": ["x"]}, 'processes["worker"]: the box has a process of that name'),
        ({"postgres": ["x"]}, "the box has a process of that name"),
        ({"traffic": "python traffic.py"}, 'processes["traffic"]: must be a command like'),
        ({"traffic": []}, "must be a command like"),
        ({"traffic": [""]}, "must be a command like"),
        ({"traffic": ["a\0b"]}, "must be a command like"),
        ({"traffic": ["python", 3]}, "must be a command like"),
        ({"traffic": None}, "must be a command like"),
    ],
    ids=quoted,
)
def test_a_process_of_another_form_is_a_fault(processes: object, said: str) -> None:
    """D4: the error names the process and the right form."""
    (fault,) = faults(processes=processes)
    assert said in fault


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "\ud800", 7, b"x", True], ids=quoted)
def test_a_name_of_a_workspace_is_printable_text(name: object) -> None:
    """D6: the database remembers it."""
    (fault,) = faults(name=name)
    assert fault.startswith("name: must be text of 1 to 200 printable characters, got ")


def test_the_error_survives_being_sent_to_another_process() -> None:
    """D4: with all its faults."""
    with pytest.raises(ConfigError) as caught:
        define_workspace(limits={"Calls": {}}, nam="x")
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.faults == caught.value.faults
    assert str(again) == "\n".join(again.faults)
