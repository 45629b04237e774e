-- A process claims the identity of a worker for the session it calls from (Q7): the named one, or the first number that
-- is free. Null if another process has the named one. p_claim names the process: a later claim makes it known that
-- the identity has passed on. The lock is the session's and lasts as long as that.
CREATE FUNCTION limits.claim_worker(p_name text, p_claim uuid, OUT worker_id integer, OUT worker_name text)
LANGUAGE plpgsql AS $$
DECLARE
    v_number integer := 0;
    v_id integer;
BEGIN
    LOOP
        v_number := v_number + 1;
        worker_name := coalesce(p_name, v_number::text);
        INSERT INTO limits.worker (kind, name, joined_at) VALUES ('worker', worker_name, clock_timestamp())
        ON CONFLICT (name) WHERE kind = 'worker' DO NOTHING;
        v_id := (SELECT w.id FROM limits.worker w WHERE w.kind = 'worker' AND w.name = worker_name);
        IF pg_try_advisory_lock(1818846575, v_id) THEN
            UPDATE limits.worker
            SET claim = p_claim, joined_at = clock_timestamp(), gone_since = NULL
            WHERE id = v_id;
            worker_id := v_id;
            RETURN;
        ELSIF p_name IS NOT NULL THEN
            RETURN;
        END IF;
    END LOOP;
END $$;
