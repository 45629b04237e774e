-- A run that has ended leaves every queue it waits in (Q5); what it had reserved goes to the next. Nothing happens to
-- one that is alive (again), nor to what a run holds (F7). Its limits are locked in the order of their ids.
CREATE FUNCTION limits.withdraw_run(p_run_id text, p_actor text, p_reason text) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit;
    v_limit_id integer;
    v_now timestamptz;
    v_slot record;
    v_before integer;
    v_withdrawn integer := 0;
BEGIN
    FOR v_limit_id IN
        SELECT DISTINCT s.limit_id FROM limits.slot s
        WHERE s.run_id = p_run_id AND s.ended_at IS NULL AND s.state <> 'busy'
        ORDER BY s.limit_id
    LOOP
        l := limits.lock_limit(v_limit_id);
        v_now := limits.clock();
        l := limits.settle(l, v_now);
        v_before := l.waiting + l.reserved;
        FOR v_slot IN
            SELECT s.id FROM limits.slot s
            WHERE s.run_id = p_run_id AND s.ended_at IS NULL
              AND s.limit_id IS NOT DISTINCT FROM v_limit_id
              AND s.runtime IS NOT NULL AND NOT limits.run_is_alive(s.runtime, s.run_id)
            ORDER BY s.run_id, s.key
        LOOP
            l := limits.withdraw_slot(l, v_slot.id, v_now, p_actor, p_reason);
        END LOOP;
        v_withdrawn := v_withdrawn + v_before - l.waiting - l.reserved;
        l := limits.grant_free(l, v_now);
        PERFORM limits.save_limit(l, v_now);
    END LOOP;
    RETURN v_withdrawn;
END $$;
