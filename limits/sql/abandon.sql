-- Whatever the call named by the key holds or waits for is given back; its state before, or null for nothing.
-- For an asker that leaves without knowing how far its request came (interrupted, answer lost). Somebody else who
-- asked with the same key keeps what he has.
CREATE FUNCTION limits.abandon(p_limit text, p_key text, p_asker uuid, p_actor text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit;
    v_limit_id integer := (SELECT x.id FROM limits.limit x WHERE x.name = p_limit);
    v_now timestamptz;
    v_slot record;
BEGIN
    IF v_limit_id IS NULL THEN
        RETURN NULL;
    END IF;
    l := limits.lock_limit(v_limit_id);
    v_now := limits.clock();
    l := limits.settle(l, v_now);
    -- As a range in order, which only the index of keys gives: planned on an empty table all indexes look alike.
    SELECT s.id, s.state INTO v_slot FROM limits.slot s
    WHERE s.limit_id = l.id AND s.key BETWEEN p_key AND p_key AND s.ended_at IS NULL
      AND s.asker IS NOT DISTINCT FROM p_asker
    ORDER BY s.key;
    IF v_slot.state = 'busy' THEN
        UPDATE limits.slot
        SET state = 'released', ended_at = v_now, ended_by = p_actor, end_reason = 'abandoned'
        WHERE id = v_slot.id;
        l.busy := l.busy - 1;
    ELSIF FOUND THEN
        l := limits.withdraw_slot(l, v_slot.id, v_now, p_actor, 'abandoned');
    END IF;
    l := limits.grant_free(l, v_now);
    PERFORM limits.save_limit(l, v_now);
    RETURN v_slot.state;
END $$;
