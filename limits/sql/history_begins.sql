-- The minute in which a limit's history begins: with its first slot, or 8 days ago. Where slots may have been pruned
-- already, with the first one that ended and is still there: before that, nobody can tell who else held one.
-- None where no slot was ever asked for, or not before p_until.
CREATE FUNCTION limits.history_begins(p_limit_id integer, p_until timestamptz) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_ended record;
    v_first timestamptz;
BEGIN
    SELECT s.asked_at, s.ended_at INTO v_ended FROM limits.slot s
    WHERE s.limit_id = p_limit_id AND s.ended_at IS NOT NULL
    ORDER BY s.ended_at LIMIT 1;
    -- A slot is kept for a day at least.
    IF v_ended.ended_at < p_until - interval '23 hours' THEN
        v_first := v_ended.ended_at;
    ELSE
        v_first := least(v_ended.asked_at, (
            SELECT min(s.asked_at) FROM (
                (SELECT x.asked_at FROM limits.slot x
                 WHERE x.limit_id = p_limit_id AND x.state = 'busy' AND x.ended_at IS NULL ORDER BY x.number LIMIT 1)
                UNION ALL
                (SELECT x.asked_at FROM limits.slot x
                 WHERE x.limit_id = p_limit_id AND x.state = 'reserved' AND x.ended_at IS NULL ORDER BY x.number LIMIT 1)
                UNION ALL
                (SELECT x.asked_at FROM limits.slot x
                 WHERE x.limit_id = p_limit_id AND x.state = 'waiting' AND x.ended_at IS NULL ORDER BY x.number LIMIT 1)
            ) s
        ));
    END IF;
    v_first := greatest(date_bin(interval '1 minute', v_first, 'epoch'), p_until - interval '8 days');
    RETURN CASE WHEN v_first < p_until THEN v_first END;
END $$;
