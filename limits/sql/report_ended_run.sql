-- For a runtime's trigger: a run has ended, or was deleted. Where it still waits the report is kept for the sweep, and
-- the workers are told. No lock of a limit is taken: the transaction is the runtime's, and holds locks of its own.
CREATE FUNCTION limits.report_ended_run(p_run_id text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM limits.slot s
        WHERE s.run_id = p_run_id AND s.ended_at IS NULL AND s.state <> 'busy' AND s.runtime IS NOT NULL
    ) THEN
        INSERT INTO limits.ended_run (run_id) VALUES (p_run_id);
        PERFORM pg_notify('limits_run_ended', '');
    END IF;
END $$;
