-- One run that a runtime reported as ended: its places in the queues go, and the report with them.
CREATE FUNCTION limits.withdraw_ended(p_id bigint) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    v_run_id text := (SELECT e.run_id FROM limits.ended_run e WHERE e.id = p_id);
    v_withdrawn integer;
BEGIN
    v_withdrawn := limits.withdraw_run(v_run_id, 'system', 'its run has ended');
    DELETE FROM limits.ended_run WHERE id = p_id;
    RETURN v_withdrawn;
END $$;
