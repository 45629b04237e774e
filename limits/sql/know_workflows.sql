-- A worker says which workflows it has the code of: an array of {name, input_schema, description}.
CREATE FUNCTION limits.know_workflows(p_worker_id integer, p_workflows jsonb) RETURNS void
LANGUAGE sql AS $$
    DELETE FROM limits.known_workflow k WHERE k.worker_id = p_worker_id;
    INSERT INTO limits.known_workflow (worker_id, name, input_schema, description)
    SELECT p_worker_id, w.name, w.input_schema, w.description
    FROM jsonb_to_recordset(p_workflows) AS w (name text, input_schema jsonb, description text)
$$;
