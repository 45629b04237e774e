-- Ends one waiting or reserved slot, if it still is (its row may have been pruned meanwhile), and wakes whoever waits
-- for it.
CREATE FUNCTION limits.withdraw_slot(
    INOUT l limits.limit, p_slot_id uuid, p_now timestamptz, p_actor text, p_reason text
)
LANGUAGE plpgsql AS $$
DECLARE
    v_state text := (SELECT s.state FROM limits.slot s WHERE s.id = p_slot_id);
BEGIN
    IF v_state IS NULL OR v_state NOT IN ('waiting', 'reserved') THEN
        RETURN;
    END IF;
    UPDATE limits.slot
    SET state = 'withdrawn', granted_at = NULL, reserved_until = NULL, expires_at = NULL, ended_at = p_now,
        ended_by = p_actor, end_reason = p_reason
    WHERE id = p_slot_id;
    IF v_state = 'waiting' THEN
        l.waiting := l.waiting - 1;
    ELSE
        l.reserved := l.reserved - 1;
    END IF;
    PERFORM pg_notify('limits_wake', p_slot_id::text);
END $$;
