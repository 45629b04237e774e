-- A runtime makes itself known, with the function that tells whether a run of it is alive.
CREATE FUNCTION limits.register_runtime(p_name text, p_alive_function regproc) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO limits.runtime (name, alive_function) VALUES (p_name, p_alive_function::text)
    ON CONFLICT (name) DO UPDATE SET alive_function = excluded.alive_function
$$;
