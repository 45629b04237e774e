-- Deletes slots that ended more than p_days ago, at most p_batch; ended rows never change, so no limit is locked.
-- Rows that another prune has under way are left to it: it is no queue, and two would wait for each other.
CREATE FUNCTION limits.prune(p_days integer, p_batch integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    v_until timestamptz := limits.clock() - make_interval(days => p_days);
    v_deleted integer := 0;
    v_count integer;
    v_limit_id integer;
BEGIN
    FOR v_limit_id IN SELECT x.id FROM limits.limit x ORDER BY x.id LOOP
        DELETE FROM limits.slot WHERE id IN (
            SELECT s.id FROM limits.slot s
            WHERE s.limit_id = v_limit_id AND s.ended_at < v_until
            ORDER BY s.ended_at
            LIMIT p_batch - v_deleted
            FOR UPDATE SKIP LOCKED
        );
        GET DIAGNOSTICS v_count = ROW_COUNT;
        v_deleted := v_deleted + v_count;
        EXIT WHEN v_deleted >= p_batch;
    END LOOP;
    DELETE FROM limits.worker WHERE id IN (
        SELECT w.id FROM limits.worker w WHERE w.ended_at < clock_timestamp() - make_interval(days => p_days)
        LIMIT p_batch
        FOR UPDATE SKIP LOCKED
    );
    RETURN v_deleted;
END $$;
