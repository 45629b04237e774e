-- An override ends: the value follows the config again (O1). Without one nothing changes (O5). Works for a limit
-- that is no longer declared, whose override is kept for its return (D8).
CREATE FUNCTION limits.reset(
    p_limit text, p_field text, p_seen bigint, p_actor text, p_source text, p_reason text,
    OUT outcome text, OUT field text, OUT current bigint, OUT granted integer
)
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit;
    v_limit_id integer := (SELECT x.id FROM limits.limit x WHERE x.name = p_limit);
    v_now timestamptz;
    v_declared bigint;
BEGIN
    granted := 0;
    IF v_limit_id IS NULL THEN
        outcome := 'unknown_limit';
        RETURN;
    END IF;
    l := limits.lock_limit(v_limit_id);
    v_now := limits.clock();
    field := p_field;
    current := CASE p_field WHEN 'capacity' THEN l.capacity ELSE l.max_hold END;
    v_declared := CASE p_field WHEN 'capacity' THEN l.declared_capacity ELSE l.declared_max_hold END;
    IF NOT EXISTS (SELECT FROM limits.override o WHERE o.limit_id = l.id AND o.field = p_field) THEN
        outcome := 'unchanged';
        RETURN;
    END IF;
    IF p_seen <> current THEN
        outcome := 'conflict';
        RETURN;
    END IF;

    l := limits.settle(l, v_now);
    DELETE FROM limits.override o WHERE o.limit_id = l.id AND o.field = p_field;
    PERFORM limits.record(
        v_now, l.name, 'reset_' || p_field, current::text, v_declared::text, p_actor, p_source, p_reason
    );
    IF p_field = 'capacity' THEN
        l.capacity := l.declared_capacity;
    ELSE
        l.max_hold := l.declared_max_hold;
    END IF;
    granted := -l.reserved;
    l := limits.grant_free(l, v_now);
    granted := granted + l.reserved;
    PERFORM limits.save_settings(l, v_now);
    outcome := 'changed';
END $$;
