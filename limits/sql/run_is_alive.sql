-- Whether a run may still be granted a slot, asked of the runtime whose run it is. True where there is none to ask.
-- The only way by which the engine learns anything of a runtime: a function that it registered.
CREATE FUNCTION limits.run_is_alive(p_runtime text, p_run_id text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_function text;
    v_alive boolean;
BEGIN
    IF p_runtime IS NULL THEN
        RETURN true;
    END IF;
    SELECT r.alive_function INTO v_function FROM limits.runtime r WHERE r.name = p_runtime;
    IF NOT FOUND THEN
        RETURN true;
    END IF;
    EXECUTE format('SELECT %s($1)', v_function::regproc) INTO v_alive USING p_run_id;
    RETURN v_alive;
END $$;
