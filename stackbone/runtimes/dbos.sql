-- What the engine learns of DBOS's runs, installed by `migrate`. The trigger of DBOS's table takes no lock of a limit:
-- it only reports (see limits.report_ended_run).
CREATE SCHEMA IF NOT EXISTS stackbone;

CREATE OR REPLACE FUNCTION stackbone.dbos_run_is_alive(p_run_id text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM dbos.workflow_status r
        WHERE r.workflow_uuid = p_run_id AND r.status IN ('ENQUEUED', 'DELAYED', 'PENDING')
    )
$$;

CREATE OR REPLACE FUNCTION stackbone.dbos_run_changed() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_was_alive boolean := OLD.status IN ('ENQUEUED', 'DELAYED', 'PENDING');
    v_is_alive boolean := TG_OP <> 'DELETE' AND NEW.status IN ('ENQUEUED', 'DELAYED', 'PENDING');
BEGIN
    IF v_was_alive AND NOT v_is_alive THEN
        PERFORM limits.report_ended_run(OLD.workflow_uuid);
    ELSIF v_is_alive AND NOT v_was_alive THEN
        PERFORM limits.report_revived_run(OLD.workflow_uuid);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER stackbone_run_changed AFTER UPDATE OF status ON dbos.workflow_status
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION stackbone.dbos_run_changed();
CREATE OR REPLACE TRIGGER stackbone_run_deleted AFTER DELETE ON dbos.workflow_status
    FOR EACH ROW EXECUTE FUNCTION stackbone.dbos_run_changed();

SELECT limits.register_runtime('dbos', 'stackbone.dbos_run_is_alive');
