-- A person overrides capacity, max hold, or both (O1); null leaves a value alone. Both or neither: where a value
-- is no longer the one the person saw, nothing changes (O7). A raise grants at once (F4); nothing is taken back,
-- and a new max hold counts for later grants only (O2, O3).
CREATE FUNCTION limits.edit(
    p_limit text, p_capacity integer, p_seen_capacity integer, p_max_hold bigint, p_seen_max_hold bigint,
    p_actor text, p_source text, p_reason text,
    OUT outcome text, OUT field text, OUT current bigint, OUT granted integer
)
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit;
    v_limit_id integer := (SELECT x.id FROM limits.limit x WHERE x.name = p_limit);
    v_now timestamptz;
    v_changed boolean := false;
BEGIN
    granted := 0;
    IF v_limit_id IS NULL THEN
        outcome := 'unknown_limit';
        RETURN;
    END IF;
    l := limits.lock_limit(v_limit_id);
    v_now := limits.clock();
    IF NOT l.declared THEN
        outcome := 'undeclared';
    ELSIF p_capacity IS NOT NULL AND p_seen_capacity <> l.capacity THEN
        outcome := 'conflict';
        field := 'capacity';
        current := l.capacity;
    ELSIF p_max_hold IS NOT NULL AND p_seen_max_hold <> l.max_hold THEN
        outcome := 'conflict';
        field := 'max_hold';
        current := l.max_hold;
    END IF;
    IF outcome IS NOT NULL THEN
        RETURN;
    END IF;

    l := limits.settle(l, v_now);
    IF p_capacity IS NOT NULL THEN
        v_changed := limits.set_override(l, 'capacity', p_capacity, v_now, p_actor, p_source, p_reason);
        l.capacity := p_capacity;
    END IF;
    IF p_max_hold IS NOT NULL THEN
        v_changed := limits.set_override(l, 'max_hold', p_max_hold, v_now, p_actor, p_source, p_reason) OR v_changed;
        l.max_hold := p_max_hold;
    END IF;
    granted := -l.reserved;
    l := limits.grant_free(l, v_now);
    granted := granted + l.reserved;
    IF v_changed THEN
        PERFORM limits.save_settings(l, v_now);
        outcome := 'changed';
    ELSE
        PERFORM limits.save_limit(l, v_now);
        outcome := 'unchanged';
    END IF;
END $$;
