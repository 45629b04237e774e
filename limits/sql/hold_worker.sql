-- Holds the row of the process that is about to wait until the request commits: the sweep ends the row of a vanished
-- process only once nothing of it waits. False if it was ended already: the process has to join anew.
CREATE FUNCTION limits.hold_worker(p_worker_id integer) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF p_worker_id IS NULL THEN
        RETURN true;
    END IF;
    PERFORM FROM limits.worker w WHERE w.id = p_worker_id AND w.ended_at IS NULL FOR SHARE;
    RETURN FOUND;
END $$;
