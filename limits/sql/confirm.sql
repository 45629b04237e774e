-- The asker looks after its slot: a reservation becomes busy (Q6), anything else is reported as it is. Idempotent.
-- A late run finds itself waiting again, at the end; if a slot is free it is granted, and confirmed, right here.
CREATE FUNCTION limits.confirm(p_slot_id uuid, OUT outcome text, OUT wait_left bigint)
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit;
    v_limit_id integer := (SELECT s.limit_id FROM limits.slot s WHERE s.id = p_slot_id);
    v_now timestamptz;
    v_slot record;
BEGIN
    IF v_limit_id IS NULL THEN
        outcome := 'unknown';
        RETURN;
    END IF;
    l := limits.lock_limit(v_limit_id);
    v_now := limits.clock();
    l := limits.settle(l, v_now);
    l := limits.grant_free(l, v_now);
    -- None if it was pruned while this waited for the lock.
    SELECT s.state, s.times_out_at, s.runtime, s.run_id INTO v_slot FROM limits.slot s WHERE s.id = p_slot_id;
    IF v_slot.state IN ('waiting', 'reserved') AND NOT limits.run_is_alive(v_slot.runtime, v_slot.run_id) THEN
        l := limits.withdraw_slot(l, p_slot_id, v_now, 'system', 'its run has ended');
        l := limits.grant_free(l, v_now);
        v_slot.state := 'withdrawn';
    END IF;
    outcome := coalesce(v_slot.state, 'unknown');
    IF v_slot.state = 'reserved' THEN
        -- Not before its grant, also where the server's clock was set back in between.
        UPDATE limits.slot
        SET state = 'busy', confirmed_at = greatest(v_now, granted_at), reserved_until = NULL
        WHERE id = p_slot_id;
        l.reserved := l.reserved - 1;
        l.busy := l.busy + 1;
        outcome := 'busy';
    END IF;
    wait_left := limits.milliseconds(v_now, v_slot.times_out_at);
    PERFORM limits.save_limit(l, v_now);
END $$;
