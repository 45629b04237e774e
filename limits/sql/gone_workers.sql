-- Plain clients whose session has been gone for 20 seconds (Q7), all of which the server was there to come back to.
CREATE FUNCTION limits.gone_workers() RETURNS integer[]
LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(array_agg(w.id), '{}') FROM limits.worker w
    WHERE w.ended_at IS NULL AND w.kind = 'client'
      AND w.gone_since <= clock_timestamp() - interval '20 seconds'
      AND pg_postmaster_start_time() <= clock_timestamp() - interval '20 seconds'
$$;
