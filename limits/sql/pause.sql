-- A person stops (p_pause) or resumes the handing out of slots (O6): the queue keeps its order, timeouts run on,
-- a reservation may still confirm. Resuming grants at once.
CREATE FUNCTION limits.pause(
    p_limit text, p_pause boolean, p_actor text, p_source text, p_reason text,
    OUT outcome text, OUT granted integer
)
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit;
    v_limit_id integer := (SELECT x.id FROM limits.limit x WHERE x.name = p_limit);
    v_now timestamptz;
BEGIN
    granted := 0;
    IF v_limit_id IS NULL THEN
        outcome := 'unknown_limit';
        RETURN;
    END IF;
    l := limits.lock_limit(v_limit_id);
    IF (l.paused_at IS NOT NULL) = p_pause THEN
        outcome := 'unchanged';
        RETURN;
    END IF;
    v_now := limits.clock();
    l := limits.settle(l, v_now);
    PERFORM limits.record(
        v_now, l.name, CASE WHEN p_pause THEN 'pause' ELSE 'resume' END,
        CASE WHEN p_pause THEN 'handing out' ELSE 'paused' END, CASE WHEN p_pause THEN 'paused' ELSE 'handing out' END,
        p_actor, p_source, p_reason
    );
    l.paused_at := CASE WHEN p_pause THEN v_now END;
    l.paused_by := CASE WHEN p_pause THEN p_actor END;
    l.paused_reason := CASE WHEN p_pause THEN p_reason END;
    granted := -l.reserved;
    l := limits.grant_free(l, v_now);
    granted := granted + l.reserved;
    PERFORM limits.save_settings(l, v_now);
    outcome := 'changed';
END $$;
