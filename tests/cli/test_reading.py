"""`limits list` and `limits slots`: what they print, as a table and as JSON."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from limits import engine, queries, rules
from limits.engine import Actor
from limits.pool import Database
from limits.wording import clock as clock_time
from tests.cli.conftest import STACKBONE, Cli, ask
from tests.conftest import Clock

ANA = Actor(name="ana@desk", source="cli")

type Declare = Callable[..., engine.Synced]


def rows(table: str) -> list[list[str]]:
    """Return the cells of a table."""
    return [re.split(r" {2,}", line.strip()) for line in table.splitlines()]


def test_a_list_as_json_has_the_documented_shape(cli: Cli, declare: Declare) -> None:
    """C1: names, both values with their origin, counts and switches; max holds as the formatter writes them."""
    declare(**{"voice-calls": (2, 45 * rules.MINUTE), "partner-api": (5, 90 * rules.MINUTE), "old": (1, rules.HOUR)})
    busy, _, _ = ask("voice-calls", 3)
    ask("voice-calls")
    ask("old")
    engine.release(busy, actor=ANA)
    engine.edit("partner-api", actor=ANA, capacity=7)
    engine.pause("partner-api", actor=ANA)
    declare(**{"voice-calls": (2, 45 * rules.MINUTE), "partner-api": (5, 90 * rules.MINUTE)})

    done = cli("list", "--json")
    assert done.stderr == ""
    assert json.loads(done.stdout) == [
        {
            "name": "old",
            "capacity": {"effective": 1, "declared": 1, "override": None},
            "max_hold": {"effective": "1h", "declared": "1h", "override": None},
            "busy": 1,
            "reserved": 0,
            "waiting": 0,
            "free": 0,
            "paused": False,
            "declared": False,
            "state": "no_longer_declared",
        },
        {
            "name": "partner-api",
            "capacity": {"effective": 7, "declared": 5, "override": 7},
            "max_hold": {"effective": "1h30m", "declared": "1h30m", "override": None},
            "busy": 0,
            "reserved": 0,
            "waiting": 0,
            "free": 7,
            "paused": True,
            "declared": True,
            "state": "paused",
        },
        {
            "name": "voice-calls",
            "capacity": {"effective": 2, "declared": 2, "override": None},
            "max_hold": {"effective": "45m", "declared": "45m", "override": None},
            "busy": 1,
            "reserved": 1,
            "waiting": 1,
            "free": 0,
            "paused": False,
            "declared": True,
            "state": "full",
        },
    ]


def test_a_list_reads_well_in_a_terminal(cli: Cli, declare: Declare, clock: Clock) -> None:
    """C1: busy and reserved of the capacity, the queue and its oldest wait, where values come from, a word of health."""
    declare(calls=(2, 45 * rules.MINUTE), api=(5, 90 * rules.MINUTE), quiet=(100_000, 30 * rules.DAY))
    busy, _, _ = ask("calls", 3)
    ask("calls")
    engine.release(busy, actor=ANA)
    engine.edit("api", actor=ANA, capacity=7, max_hold=rules.HOUR)
    engine.pause("api", actor=ANA)
    clock.advance(64_000)

    done = cli("list")
    assert done.code == 0
    headings, api, calls, quiet = rows(done.stdout)
    assert headings == ["LIMIT", "BUSY", "WAITING", "OLDEST WAIT", "MAX HOLD", "STATE", "VALUES FROM"]
    assert api == [
        "api",
        "0 / 7",
        "0",
        "-",
        "1h",
        "Paused",
        "override: capacity (declared 5), max hold (declared 1h30m)",
    ]
    assert calls[:3] == ["calls", "1 +1 / 2", "1"]
    assert re.fullmatch(r"1m 0\ds", calls[3])
    assert calls[4:] == ["45m", "Full", "declared"]
    assert quiet == ["quiet", "0 / 100,000", "0", "-", "30d", "Idle", "declared"]
    starts = [re.match(r"\S+ +", line) for line in done.stdout.splitlines()]
    assert all(start and len(start[0]) >= len("LIMIT  ") for start in starts)


def test_a_lowered_capacity_shows_how_many_are_over(cli: Cli, declare: Declare) -> None:
    """O2, case 12: never a negative number."""
    declare(calls=(5, rules.HOUR))
    ask("calls", 5)
    engine.edit("calls", actor=ANA, capacity=2)
    assert rows(cli("list").stdout)[1][1:6] == ["5 / 2", "0", "-", "1h", "Over by 3"]
    assert json.loads(cli("list", "--json").stdout)[0]["free"] == 0


def test_a_box_without_limits_says_so(cli: Cli) -> None:
    """C1: and as JSON it is an empty list."""
    assert "stackbone_config.py" in cli("list").stdout
    assert json.loads(cli("list", "--json").stdout) == []


def test_slots_as_json_have_the_documented_shape(cli: Cli, declare: Declare, box: Database) -> None:
    """C1: busy first, then reserved, then the queue in order; instants in UTC, absent ones null."""
    declare(calls=(2, 45 * rules.MINUTE))
    first, second, third, fourth, fifth = ask("calls", 5, label="call-17", run_id="run-1", workflow="place_call")
    engine.release(first, actor=ANA)

    done = cli("slots", "calls", "--json")
    found = json.loads(done.stdout)
    assert set(found) == {"limit", "slots"}
    assert found["limit"] == json.loads(cli("list", "--json").stdout)[0]
    assert [slot["id"] for slot in found["slots"]] == [second, third, fourth, fifth]
    assert [slot["state"] for slot in found["slots"]] == ["busy", "reserved", "waiting", "waiting"]
    assert [slot["position"] for slot in found["slots"]] == [None, None, 1, 2]
    for slot in found["slots"]:
        assert list(slot) == [
            "id", "state", "label", "run_id", "workflow", "position",
            "asked_at", "granted_at", "expires_at", "reserved_until", "times_out_at", "starts_by",
        ]  # fmt: skip
        assert (slot["label"], slot["run_id"], slot["workflow"]) == ("call-17", "run-1", "place_call")
    given = [
        {name for name, value in slot.items() if name.endswith(("_at", "_until")) and value} for slot in found["slots"]
    ]
    assert given == [
        {"asked_at", "granted_at", "expires_at"},
        {"asked_at", "granted_at", "expires_at", "reserved_until", "times_out_at"},
        {"asked_at", "times_out_at"},
        {"asked_at", "times_out_at"},
    ]
    busy = found["slots"][0]
    assert all(
        re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", busy[name]) for name in ("asked_at", "expires_at")
    )
    slot = queries.slot(second, db=box)
    assert slot is not None
    assert datetime.fromisoformat(busy["expires_at"]) == slot.expires_at
    assert datetime.fromisoformat(busy["expires_at"]) - datetime.fromisoformat(busy["granted_at"]) == timedelta(
        minutes=45
    )
    assert datetime.fromisoformat(busy["asked_at"]).tzinfo == UTC


def test_instants_are_utc_whatever_the_zone_of_the_shell(cli: Cli, declare: Declare) -> None:
    """C1: RFC 3339 with Z."""
    declare(calls=(1, rules.HOUR))
    ask("calls")
    answers = [
        cli("slots", "calls", "--json", env={"TZ": zone, "PGTZ": zone}).stdout
        for zone in ("Asia/Tokyo", "America/Lima")
    ]
    assert answers[0] == answers[1]


def test_the_slots_of_a_limit_read_well_in_a_terminal(cli: Cli, declare: Declare, clock: Clock) -> None:
    """C1: the limit in a line, then its slots with how long they last and how long they have left."""
    declare(calls=(2, 45 * rules.MINUTE))
    first, second, third, fourth = ask("calls", 4, label="call-17", run_id="run-1")
    engine.release(first, actor=ANA)
    clock.advance(64_000)

    done = cli("slots", "calls")
    summary, standing, *table = done.stdout.splitlines()
    assert summary == "calls: 1 busy, 1 reserved of 2; 1 waiting; max hold 45m; values declared. Full."
    slot = queries.slot(second)
    state = queries.limit("calls")
    assert slot is not None
    assert slot.expires_at is not None
    assert state is not None
    by = clock_time(slot.expires_at + timedelta(seconds=15), now=state.now)
    assert standing == f"All 2 slots are in use. 1 run waits. The next slot frees by {by} at the latest."
    headings, busy, reserved, waiting = rows("\n".join(table))
    assert headings == ["POSITION", "STATE", "SLOT", "FOR", "LEFT", "STARTS BY", "TIMES OUT", "RUN", "LABEL"]
    assert busy[:3] == ["-", "busy", second]
    assert re.fullmatch(r"1m 0\ds", busy[3])
    assert re.fullmatch(r"43m \d\ds", busy[4])
    assert busy[5:] == ["-", "-", "run-1", "call-17"]
    assert reserved[:3] == ["-", "reserved", third]
    assert re.fullmatch(r"5\ds", reserved[4])
    assert waiting[:3] == ["1", "waiting", fourth]
    assert waiting[4:] == ["-", by, "23h 58m", "run-1", "call-17"]


@pytest.mark.parametrize("trouble", ["paused", "over", "not_handing_out", "overdue", "far", "may_time_out_first"])
def test_the_slots_of_a_limit_say_why_the_queue_stands(
    cli: Cli, declare: Declare, clock: Clock, box: Database, trouble: str
) -> None:
    """S1, C1: the state's word, a sentence, and what is known of each start; the same state for programs."""
    declare(calls=(2, 45 * rules.MINUTE))
    ask("calls", 2)
    ask("calls", 4 if trouble == "far" else 1, timeout=10 * rules.MINUTE if "time_out" in trouble else rules.DAY)
    word, state, said, starts = {
        "paused": (
            "Paused, 2 finishing",
            "paused",
            r"Paused by ana@desk at .* UTC: new \\u202e line\. No slot ",
            ["-"],
        ),
        "over": (
            "Over by 1",
            "over",
            r"2 busy, capacity 1\. Nothing .* 2 slots must free .* That is by .* latest\.",
            ["UTC"],
        ),
        "not_handing_out": ("Not handing out", "not_handing_out", r"1 slot has been free for 3\ds\. Yet 1 run", ["-"]),
        "overdue": ("Overdue", "overdue", r"All 2 slots .* 1 run waits\. A slot is past its max hold\. The 15", ["-"]),
        "far": ("Full", "full", r"All 2 slots are in use\. 4 runs wait\.", ["UTC", "UTC", "-", "-"]),
        "may_time_out_first": ("Full", "full", r"All 2 slots are in use\.", ["may time out first"]),
    }[trouble]
    if trouble == "paused":
        engine.pause("calls", actor=ANA, reason="new \u202e line")
    if trouble == "over":
        engine.edit("calls", actor=ANA, capacity=1)
    if trouble == "not_handing_out":
        box.fetch("UPDATE limits.limit SET capacity = 3, declared_capacity = 3 RETURNING 1")
    if trouble in ("not_handing_out", "overdue"):
        clock.advance(31_000 + (45 * rules.MINUTE if trouble == "overdue" else 0))
    summary, standing, _, *table = cli("slots", "calls").stdout.splitlines()
    assert summary.endswith(f". {word}.")
    assert re.match(said, standing)
    found = json.loads(cli("slots", "calls", "--json").stdout)
    assert found["limit"]["state"] == state
    waits = [slot for slot in found["slots"] if slot["state"] == "waiting"]
    assert [slot["starts_by"] is None for slot in waits] == [each == "-" for each in starts]
    cells = [row[5] for row in rows("\n".join(table)) if row[1] == "waiting"]
    assert [cell.split()[-1] if "UTC" in cell else cell for cell in cells] == starts
    assert rows(cli("list").stdout)[1][5] == word


def test_a_long_queue_is_listed_whole_and_in_order(cli: Cli, declare: Declare) -> None:
    """Q1, case 18: over all pages, no gap and no tie, as table and as JSON alike."""
    declare(calls=(1, rules.HOUR))
    ids = ask("calls", 2_102)
    slots = json.loads(cli("slots", "calls", "--json").stdout)["slots"]
    assert [slot["id"] for slot in slots] == ids
    assert [slot["position"] for slot in slots] == [None, *range(1, 2_102)]
    _, _, _, *lines = cli("slots", "calls").stdout.splitlines()
    assert [re.search(r"[0-9a-f-]{36}", line)[0] for line in lines] == ids  # type: ignore[index]


def test_a_limit_no_longer_declared_is_still_shown_with_its_slots(cli: Cli, declare: Declare) -> None:
    """D8: until it is empty; then it leaves the list."""
    declare(calls=(1, rules.HOUR))
    (slot,) = ask("calls")
    declare()
    assert rows(cli("list").stdout)[1][5] == "No longer declared"
    assert slot in cli("slots", "calls").stdout
    assert cli("release", slot, "--yes").code == 0
    assert json.loads(cli("list", "--json").stdout) == []


@pytest.mark.parametrize("as_json", [False, True])
def test_hostile_text_stays_harmless_in_a_terminal(box: Database, cli: Cli, declare: Declare, as_json: bool) -> None:
    """C1: whatever is not printable is escaped, marks of writing direction included."""
    declare(calls=(1, rules.HOUR))
    label = "evil\u202egnp.exe\u200b\u2066\ufeff"
    run_id = "\x1b]0;owned\x07\x1b[2Jrun\nrow\u2028"
    ask("calls", label=label)
    # Refused by today's engine; what is in the table is shown harmlessly all the same.
    box.fetch("UPDATE limits.slot SET run_id = %s RETURNING id", [run_id])
    done = cli("slots", "calls", *(["--json"] if as_json else []))
    assert all(line.isprintable() for line in done.stdout.splitlines())
    assert len(done.stdout.splitlines()) == (1 if as_json else 4)
    if as_json:
        (slot,) = json.loads(done.stdout)["slots"]
        assert (slot["label"], slot["run_id"]) == (label, run_id)
    else:
        assert r"evil\u202egnp.exe\u200b\u2066\ufeff" in done.stdout
        assert r"\x1b]0;owned\x07\x1b[2Jrun\nrow\u2028" in done.stdout


def test_wide_and_combining_letters_keep_the_columns_straight(cli: Cli, declare: Declare) -> None:
    """C1: text of any length stands last, where it moves no other column."""
    declare(calls=(3, rules.HOUR))
    for label in ("日本語", "e\u0301" * 90, "plain"):
        ask("calls", label=label)
    _, _, headings, *lines = cli("slots", "calls").stdout.splitlines()
    assert {line.rindex("-  ") for line in lines} == {headings.index("RUN")}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("voice-cals", "limit 'voice-cals' is not declared in stackbone_config.py; did you mean 'voice-calls'?"),
        ("Voice-Calls", "did you mean 'voice-calls'?"),
        ("voice-calls\n", "did you mean 'voice-calls'?"),
        ("zzz", "limit 'zzz' is not declared in stackbone_config.py"),
        ("", "limit '' is not declared"),
        ("a/b", "limit 'a/b' is not declared"),
        ("' OR 1=1 --", "is not declared"),
        ("\u202e\x1b[2J", r"limit '\u202e\x1b[2J' is not declared"),
    ],
)
def test_an_unknown_limit_is_an_error_that_names_near_ones(cli: Cli, declare: Declare, name: str, said: str) -> None:
    """A4, cases 37 and 40: exit code 1, nothing on standard output."""
    declare(**{"voice-calls": (2, rules.HOUR)})
    for more in ([], ["--json"]):
        done = cli("slots", name, *more)
        assert said in done.refusal
        assert done.code == 1


def test_a_name_that_is_no_text_is_an_unknown_limit(cli: Cli, declare: Declare) -> None:
    """Case 37: bytes of another encoding end in the same error."""
    declare(calls=(2, rules.HOUR))
    assert "is not declared" in cli("slots", b"caf\xe9").refusal


@pytest.mark.parametrize("arguments", [["slots", "calls"], ["slots", "calls", "--json"], ["list"]])
def test_a_reader_that_leaves_early_causes_no_noise(
    cli: Cli, declare: Declare, arguments: list[str], tmp_path: Any
) -> None:
    """Case 43: `… | head -1`."""
    declare(calls=(1, rules.HOUR))
    ask("calls", 1_500)
    shell = shutil.which("bash") or "bash"
    done = subprocess.run(
        [shell, "-c", f"{' '.join(STACKBONE)} limits {' '.join(arguments)} | head -c 20"],
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""
    assert len(done.stdout) == 20
