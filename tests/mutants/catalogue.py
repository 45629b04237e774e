"""The mutants: what is broken, by which exact text, and the test that must fail then."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

FILES: Final = "limits/sql"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One break of one file of `limits/sql`; `text` stands in it exactly once."""

    name: str
    file: str
    text: str
    replacement: str
    test: str
    """The id of a test below `tests/engine/`, as pytest takes it."""

    def applied(self, root: Path) -> str:
        """Return the file's broken text; raises `ValueError` where `text` does not stand in it exactly once."""
        source = (root / FILES / f"{self.file}.sql").read_text(encoding="utf-8")
        if source.count(self.text) != 1:
            raise ValueError(f"{self.name}: {self.text!r} stands {source.count(self.text)} times in {self.file}.sql")
        return source.replace(self.text, self.replacement)


_SETTLE: Final = "    l := limits.settle(l, v_now);\n"
_GRANT: Final = "l := limits.grant_free(l, v_now);"

MUTANTS: Final = (
    # The lock.
    Mutant("the lock is not taken", "lock_limit",
           "v_locked := pg_advisory_xact_lock(1818846573, p_limit_id);", "v_locked := '';",
           "test_lock_races.py::test_a_slot_released_by_two_is_released_once"),
    Mutant("the isolation level is not looked at", "lock_limit",
           "<> 'read committed'", "= 'nothing'",
           "test_constraints.py::test_another_isolation_level_is_refused"),
    # Boundaries.
    Mutant("a slot beyond the capacity on request", "request",
           "l.busy + l.reserved < l.capacity", "l.busy + l.reserved <= l.capacity",
           "test_acquiring.py::test_everybody_else_queues_and_learns_the_position"),
    Mutant("a grant beyond the capacity", "grant_free",
           "EXIT WHEN l.busy + l.reserved >= l.capacity", "EXIT WHEN l.busy + l.reserved > l.capacity",
           "test_overriding.py::test_raising_grants_at_once"),
    Mutant("expired only after the instant", "settle",
           "s.state = 'busy' AND s.ended_at IS NULL AND s.due_at <= p_now",
           "s.state = 'busy' AND s.ended_at IS NULL AND s.due_at < p_now",
           "test_boundaries.py::test_a_slot_is_taken_back_at_the_instant_of_its_max_hold"),
    Mutant("timed out only after the instant", "settle",
           "s.state = 'waiting' AND s.ended_at IS NULL AND s.due_at <= p_now",
           "s.state = 'waiting' AND s.ended_at IS NULL AND s.due_at < p_now",
           "test_boundaries.py::test_a_wait_times_out_at_the_instant_of_its_deadline"),
    Mutant("lapsed only after the instant", "settle",
           "s.state = 'reserved' AND s.ended_at IS NULL AND s.due_at <= p_now",
           "s.state = 'reserved' AND s.ended_at IS NULL AND s.due_at < p_now",
           "test_boundaries.py::test_a_reservation_lapses_at_the_instant_of_its_end"),
    Mutant("a lapse at the deadline waits on", "settle_slot",
           "p_slot.times_out_at <= p_now", "p_slot.times_out_at < p_now",
           "test_boundaries.py::test_a_reservation_that_ends_with_the_wait_times_out"),
    Mutant("granted at the deadline", "grant_free",
           "v_slot.times_out_at <= p_now", "v_slot.times_out_at < p_now",
           "test_boundaries.py::test_nobody_is_granted_a_slot_at_the_instant_of_the_deadline"),
    # The order of the queue.
    Mutant("no order of grants", "grant_free",
           "ORDER BY s.number", "ORDER BY s.key DESC",
           "test_queueing.py::test_first_come_first_served"),
    Mutant("the last comes first", "grant_free",
           "ORDER BY s.number", "ORDER BY s.number DESC",
           "test_queueing.py::test_first_come_first_served"),
    Mutant("a newcomer overtakes", "request",
           "IF l.waiting = 0 AND l.paused_at IS NULL", "IF l.paused_at IS NULL",
           "test_safeguards.py::test_a_newcomer_queues_behind_a_waiter_even_beside_a_free_slot"),
    Mutant("the head bound passes somebody by", "grant_free",
           "l.head_number := v_slot.number + 1", "l.head_number := v_slot.number + 2",
           "test_queueing.py::test_first_come_first_served"),
    Mutant("a lapsed run keeps its number", "settle_slot",
           "number = l.last_number, granted_at", "granted_at",
           "test_queueing.py::test_a_late_run_moves_to_the_end_of_the_queue"),
    Mutant("a lapse moves the deadline", "settle_slot",
           "expires_at = NULL, missed = least(missed + 1, 32767)",
           "expires_at = NULL, missed = least(missed + 1, 32767), times_out_at = times_out_at + interval '2 minutes'",
           "test_queueing.py::test_a_late_run_moves_to_the_end_of_the_queue"),
    # Every door grants.
    Mutant("release grants nobody", "release", _GRANT, "NULL;",
           "test_freeing.py::test_two_slots_freed_together_wake_two_waiters"),
    Mutant("withdraw grants nobody", "withdraw", _GRANT, "NULL;",
           "test_queueing.py::test_whoever_leaves_the_queue_passes_the_slot_on"),
    Mutant("abandon grants nobody", "abandon", _GRANT, "NULL;",
           "test_freeing.py::test_a_call_that_leaves_gives_back_whatever_it_had"),
    Mutant("an edit grants nobody", "edit", _GRANT, "NULL;",
           "test_overriding.py::test_raising_grants_at_once"),
    Mutant("a reset grants nobody", "reset", _GRANT, "NULL;",
           "test_freeing.py::test_a_raise_by_whatever_door_grants_as_many_as_fit_in_order"),
    Mutant("resume grants nobody", "pause", _GRANT, "NULL;",
           "test_pausing.py::test_resuming_grants_at_once_what_fits"),
    Mutant("a sync grants nobody", "declare", _GRANT, "NULL;",
           "test_declaring.py::test_raising_the_declared_capacity_grants_at_once"),
    Mutant("the sweep grants nobody", "sweep_limit", _GRANT, "NULL;",
           "test_sweeping.py::test_one_pass_settles_everything_that_is_due"),
    # What an operation looks at.
    Mutant("anything can be released", "release",
           "WHERE s.id = p_slot_id AND s.state = 'busy'", "WHERE s.id = p_slot_id AND s.ended_at IS NULL",
           "test_freeing.py::test_only_a_busy_slot_can_be_released"),
    Mutant("anything can be confirmed", "confirm",
           "IF v_slot.state = 'reserved' THEN", "IF v_slot.state IN ('reserved', 'waiting') THEN",
           "test_safeguards.py::test_whoever_still_waits_cannot_confirm"),
    Mutant("a held slot can be withdrawn", "withdraw_slot",
           "v_state NOT IN ('waiting', 'reserved')", "v_state NOT IN ('waiting', 'reserved', 'busy')",
           "test_lock_races.py::test_whoever_confirms_and_leaves_at_once_ends_up_in_one_state"),
    Mutant("the key is not looked up", "request",
           "s.key BETWEEN p_key AND p_key", "s.key BETWEEN p_key AND ''",
           "test_acquiring.py::test_a_call_sent_again_finds_its_slot_in_every_live_state"),
    Mutant("the releaser's key is forgotten", "release",
           "end_reason = p_reason, release_key = p_key", "end_reason = p_reason",
           "test_freeing.py::test_the_same_release_sent_again_gets_the_same_answer"),
    Mutant("any key may claim a release", "release",
           "coalesce(v_slot.release_key = p_key, false)", "v_slot.release_key IS NOT NULL",
           "test_freeing.py::test_a_release_counts_once"),
    Mutant("a pause keeps no grant back", "grant_free",
           "l.paused_at IS NOT NULL OR l.waiting = 0", "l.waiting = 0",
           "test_pausing.py::test_a_paused_limit_hands_out_nothing_by_any_door"),
    Mutant("a pause keeps no newcomer back", "request",
           "l.waiting = 0 AND l.paused_at IS NULL AND", "l.waiting = 0 AND",
           "test_pausing.py::test_an_empty_paused_limit_queues_whoever_asks"),
    Mutant("an undeclared limit takes new ones", "request",
           "IF NOT l.declared THEN", "IF false THEN",
           "test_declaring.py::test_an_undeclared_limit_serves_out_what_it_has"),
    Mutant("timeout zero queues", "request",
           "ELSIF p_timeout = 0 THEN", "ELSIF p_timeout < 0 THEN",
           "test_acquiring.py::test_timeout_zero_tries_once_and_never_queues"),
    # Bookkeeping.
    Mutant("the next due time is not lowered by a request", "request",
           "l.next_due_at := least(l.next_due_at, v_due_at);", "",
           "test_freeing.py::test_no_operation_ignores_what_is_due"),
    Mutant("the next due time is not lowered by a grant", "grant_free",
           "l.next_due_at := least(l.next_due_at, v_reserved_until);", "",
           "test_queueing.py::test_a_late_run_moves_to_the_end_of_the_queue"),
    Mutant("a release moves no counter", "release",
           "l.busy := l.busy - 1;", "",
           "test_freeing.py::test_a_release_counts_once"),
    Mutant("a confirmation moves no counter", "confirm",
           "l.reserved := l.reserved - 1;", "",
           "test_queueing.py::test_a_grant_before_the_deadline_wins"),
    Mutant("request settles nothing", "request",
           "IF l.next_due_at <= v_now THEN", "IF false THEN",
           "test_freeing.py::test_no_operation_ignores_what_is_due"),
    Mutant("release settles nothing", "release",
           "IF l.next_due_at <= v_now THEN", "IF false THEN",
           "test_lock_races.py::test_a_release_goes_by_the_time_after_its_wait"),
    Mutant("confirm settles nothing", "confirm", _SETTLE, "",
           "test_lock_races.py::test_a_confirmation_that_was_in_time_but_waited_too_long_is_late"),
    Mutant("a reservation outlasts the max hold", "grant_free",
           "least(limits.after(p_now, 120000), limits.after(p_now, l.max_hold))", "limits.after(p_now, 120000)",
           "test_queueing.py::test_a_reservation_lasts_no_longer_than_the_max_hold"),
    Mutant("the max hold is the one of the confirmation", "confirm",
           "confirmed_at = greatest(v_now, granted_at), reserved_until = NULL",
           "confirmed_at = greatest(v_now, granted_at), reserved_until = NULL, expires_at = limits.after(v_now, l.max_hold)",
           "test_overriding.py::test_a_waiter_gets_the_max_hold_of_the_moment_of_its_grant"),
    Mutant("a grant wakes nobody", "grant_free",
           "PERFORM pg_notify('limits_wake', v_slot.id::text);", "NULL;",
           "test_freeing.py::test_grants_and_ends_wake_whoever_waits_and_nothing_else_does"),
    Mutant("a stale edit wins", "edit",
           "p_seen_capacity <> l.capacity", "false",
           "test_overriding.py::test_the_second_of_two_editors_gets_both_values"),
    Mutant("a change is not recorded", "set_override",
           "PERFORM limits.record(", "PERFORM num_nulls(",
           "test_recording.py::test_every_change_by_a_person_is_recorded"),
    Mutant("a vanished client is given up at once", "gone_workers",
           "interval '20 seconds'", "interval '0 seconds'",
           "test_vanished.py::test_a_client_that_comes_back_within_20_seconds_keeps_its_place"),
)  # fmt: skip
