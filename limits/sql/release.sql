-- A busy slot is given back and goes to the next in the queue, in one transaction (F1, F6).
-- Once only: any later call changes nothing, but the same call, named by its key, gets its answer again.
-- Works for a limit that is no longer declared. p_audited: a person did it (O7).
CREATE FUNCTION limits.release(
    p_slot_id uuid, p_key text, p_actor text, p_source text, p_reason text, p_audited boolean,
    OUT released boolean, OUT state text, OUT limit_name text, OUT granted integer
)
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit;
    v_limit_id integer := (SELECT s.limit_id FROM limits.slot s WHERE s.id = p_slot_id);
    v_now timestamptz;
    v_slot record;
BEGIN
    released := false;
    granted := 0;
    IF v_limit_id IS NULL THEN
        RETURN;
    END IF;
    l := limits.lock_limit(v_limit_id);
    v_now := limits.clock();
    IF l.next_due_at <= v_now THEN
        l := limits.settle(l, v_now);
    END IF;
    limit_name := l.name;
    UPDATE limits.slot AS s
    SET state = 'released', ended_at = v_now, ended_by = p_actor, end_reason = p_reason, release_key = p_key
    WHERE s.id = p_slot_id AND s.state = 'busy'
    RETURNING s.state, s.label INTO v_slot;
    IF FOUND THEN
        l.busy := l.busy - 1;
        released := true;
        IF p_audited THEN
            PERFORM limits.record(
                v_now, l.name, 'release', 'busy', 'released', p_actor, p_source, p_reason, p_slot_id, v_slot.label
            );
        END IF;
    ELSE
        SELECT s.state, s.release_key INTO v_slot FROM limits.slot s WHERE s.id = p_slot_id;
        released := coalesce(v_slot.release_key = p_key, false);
    END IF;
    state := v_slot.state;
    IF l.waiting > 0 THEN
        granted := -l.reserved;
        l := limits.grant_free(l, v_now);
        granted := granted + l.reserved;
        -- What waited may have been granted just now.
        IF state = 'waiting' THEN
            state := (SELECT s.state FROM limits.slot s WHERE s.id = p_slot_id);
        END IF;
    END IF;
    PERFORM limits.save_limit(l, v_now);
END $$;
