-- Identities of workers that have been gone for 60 seconds, all of which the server was there to come back to (Q7).
CREATE FUNCTION limits.gone_identities() RETURNS TABLE (id integer, name text)
LANGUAGE sql VOLATILE AS $$
    SELECT w.id, w.name FROM limits.worker w
    WHERE w.kind = 'worker'
      AND w.gone_since <= clock_timestamp() - interval '60 seconds'
      AND pg_postmaster_start_time() <= clock_timestamp() - interval '60 seconds'
$$;
