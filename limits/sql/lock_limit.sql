-- Takes the limit's lock, first of all locks, and then reads its row: everything an operation decides on is
-- read after the wait. An advisory lock, since sessions that wait for a row re-check it one by one as they wake.
-- Two statements of a VOLATILE function under READ COMMITTED see two snapshots; under any other level the
-- second would still see the state from before the wait, so other levels are refused.
CREATE FUNCTION limits.lock_limit(p_limit_id integer) RETURNS limits.limit
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit;
    v_locked text;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'limits are changed under READ COMMITTED only' USING ERRCODE = 'active_sql_transaction';
    END IF;
    -- An assignment runs in a fraction of a statement's time.
    v_locked := pg_advisory_xact_lock(1818846573, p_limit_id);
    SELECT * INTO l FROM limits.limit WHERE id = p_limit_id;
    RETURN l;
END $$;
