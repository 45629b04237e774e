-- A slot that is not held yet leaves the queue (F5); what it had reserved goes to the next. Idempotent.
CREATE FUNCTION limits.withdraw(p_slot_id uuid, p_actor text, p_reason text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit;
    v_limit_id integer := (SELECT s.limit_id FROM limits.slot s WHERE s.id = p_slot_id);
    v_now timestamptz;
    v_before integer;
BEGIN
    IF v_limit_id IS NULL THEN
        RETURN false;
    END IF;
    l := limits.lock_limit(v_limit_id);
    v_now := limits.clock();
    l := limits.settle(l, v_now);
    v_before := l.waiting + l.reserved;
    l := limits.withdraw_slot(l, p_slot_id, v_now, p_actor, p_reason);
    v_before := v_before - l.waiting - l.reserved;
    l := limits.grant_free(l, v_now);
    PERFORM limits.save_limit(l, v_now);
    RETURN v_before > 0;
END $$;
