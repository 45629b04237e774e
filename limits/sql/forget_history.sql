-- Deletes what of a limit's history no range shows any more: minutes after 7 hours, quarters of an hour after 8 days.
-- The last row before that stays: it tells how the limit has stood since.
CREATE FUNCTION limits.forget_history(p_limit_id integer, p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM limits.history h
    USING (VALUES (60, interval '7 hours'), (900, interval '8 days')) AS kept (step, span)
    WHERE h.limit_id = p_limit_id AND h.step = kept.step AND h.at < (
        SELECT x.at FROM limits.history x
        WHERE x.limit_id = p_limit_id AND x.step = kept.step AND x.at <= p_now - kept.span
        ORDER BY x.at DESC LIMIT 1
    );
END $$;
