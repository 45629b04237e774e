-- Grants all free slots to waiters in queue order (F6, Q1). Nothing while paused (O6).
-- A grant to a queued run is a reservation, for 2 minutes or its max hold if that is sooner (Q6).
-- The caller reads from l.reserved how many were granted.
-- A waiter whose time ran out is never granted, even where a bounded settle has not reached it yet (Q4).
-- Nor is a run that has ended, whoever ended it: it leaves the queue here (Q5, F5).
-- One that can't be granted is passed over with a warning, and tried again first the next time (F8).
CREATE FUNCTION limits.grant_free(INOUT l limits.limit, p_now timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
    v_slot record;
    v_expires_at timestamptz := limits.after(p_now, l.max_hold);
    v_head_is_sound boolean := true;
    v_reserved_until timestamptz := least(limits.after(p_now, 120000), limits.after(p_now, l.max_hold));
BEGIN
    IF l.paused_at IS NOT NULL OR l.waiting = 0 OR l.busy + l.reserved >= l.capacity THEN
        RETURN;
    END IF;
    FOR v_slot IN
        SELECT s.id, s.number, s.times_out_at, s.runtime, s.run_id
        FROM limits.slot s
        WHERE s.limit_id = l.id AND s.state = 'waiting' AND s.ended_at IS NULL AND s.number >= l.head_number
        ORDER BY s.number
    LOOP
        EXIT WHEN l.busy + l.reserved >= l.capacity;
        BEGIN
            IF v_slot.times_out_at <= p_now THEN
                UPDATE limits.slot
                SET state = 'timed_out', ended_at = p_now, ended_by = 'system'
                WHERE id = v_slot.id;
                l.waiting := l.waiting - 1;
                PERFORM pg_notify('limits_wake', v_slot.id::text);
            ELSIF NOT limits.run_is_alive(v_slot.runtime, v_slot.run_id) THEN
                l := limits.withdraw_slot(l, v_slot.id, p_now, 'system', 'its run has ended');
            ELSE
                UPDATE limits.slot
                SET state = 'reserved', granted_at = p_now, reserved_until = v_reserved_until,
                    expires_at = v_expires_at
                WHERE id = v_slot.id;
                l.reserved := l.reserved + 1;
                l.next_due_at := least(l.next_due_at, v_reserved_until);
                l.waiting := l.waiting - 1;
                PERFORM pg_notify('limits_wake', v_slot.id::text);
            END IF;
            IF v_head_is_sound THEN
                l.head_number := v_slot.number + 1;
            END IF;
        EXCEPTION
            -- A row that somebody keeps locked is as good as any: nobody overtakes it.
            WHEN lock_not_available OR deadlock_detected THEN
                RAISE;
            WHEN OTHERS THEN
                v_head_is_sound := false;
                RAISE WARNING 'slot % of limit % is passed over: %', v_slot.id, l.name, SQLERRM;
        END;
    END LOOP;
END $$;
