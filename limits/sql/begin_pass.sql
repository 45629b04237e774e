-- A sweep's first step: notes which processes are gone, and returns the limits to look at: those with something due,
-- with queue places of a vanished client, or with a free slot beside a waiter, whatever left it there. Presence goes by the real clock: a session can't be shifted.
-- One sweeper at a time looks after presence; the others leave it to that one.
CREATE FUNCTION limits.begin_pass() RETURNS SETOF integer
LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := limits.clock();
    v_gone integer[];
BEGIN
    IF pg_try_advisory_xact_lock(1818846576, 0) THEN
        UPDATE limits.worker w
        SET gone_since = CASE WHEN p.present THEN NULL ELSE clock_timestamp() END
        FROM (
            SELECT x.id, limits.is_present(x.id) AS present
            FROM limits.worker x WHERE x.ended_at IS NULL
        ) p
        WHERE w.id = p.id AND w.ended_at IS NULL AND (w.gone_since IS NULL) <> p.present;
    END IF;
    v_gone := limits.gone_workers();
    RETURN QUERY
        SELECT x.id FROM limits.limit x
        WHERE x.next_due_at <= v_now
           OR (x.waiting > 0 AND x.paused_at IS NULL AND x.busy + x.reserved < x.capacity)
           OR x.id = ANY (ARRAY(
                SELECT s.limit_id FROM limits.slot s
                WHERE s.worker_id = ANY (v_gone) AND s.ended_at IS NULL AND s.confirmed_at IS NULL
           ))
        ORDER BY x.id;
END $$;
