-- The limits of which a minute or more is over that their history does not tell yet. One that has stood still since
-- has nothing to add: nothing is written for it.
CREATE FUNCTION limits.begin_roll_up() RETURNS SETOF integer
LANGUAGE plpgsql AS $$
DECLARE
    v_minute timestamptz := date_bin(interval '1 minute', limits.clock(), 'epoch');
BEGIN
    RETURN QUERY
        SELECT x.id FROM limits.limit x LEFT JOIN limits.history_mark m ON m.limit_id = x.id
        WHERE x.last_number > 0 AND coalesce(m.until < v_minute AND x.changed_at >= m.until, true)
        ORDER BY x.id;
END $$;
