-- A worker comes back with a new session: `held` if the identity is its own again; `passed_on` if another process has
-- claimed it meanwhile; `busy` while the server has not missed the former session yet.
CREATE FUNCTION limits.reclaim_worker(p_id integer, p_claim uuid) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_held boolean := pg_try_advisory_lock(1818846575, p_id);
BEGIN
    IF NOT EXISTS (SELECT FROM limits.worker w WHERE w.id = p_id AND w.claim = p_claim) THEN
        RETURN 'passed_on';
    END IF;
    RETURN CASE WHEN v_held THEN 'held' ELSE 'busy' END;
END $$;
