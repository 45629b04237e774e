-- A sweep's last step: closes the rows of vanished clients of whom nothing waits any more, and notes that the
-- sweep ran. The rows are locked first and the slots read afterwards: a request under way holds its process's row
-- until it has committed.
CREATE FUNCTION limits.end_pass() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_gone integer[];
BEGIN
    IF NOT pg_try_advisory_xact_lock(1818846576, 0) THEN
        RETURN;
    END IF;
    UPDATE limits.box SET swept_at = limits.clock();
    v_gone := limits.gone_workers();
    IF v_gone = '{}' THEN
        RETURN;
    END IF;
    PERFORM FROM limits.worker w WHERE w.id = ANY (v_gone) ORDER BY w.id FOR UPDATE;
    UPDATE limits.worker w SET ended_at = clock_timestamp()
    WHERE w.id = ANY (v_gone) AND NOT EXISTS (
        SELECT FROM limits.slot s WHERE s.worker_id = w.id AND s.ended_at IS NULL AND s.confirmed_at IS NULL
    );
END $$;
