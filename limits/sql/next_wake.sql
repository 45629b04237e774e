-- When the sweep is needed next: milliseconds until a slot falls due, or a client counts as vanished; null if neither
-- is in sight.
CREATE FUNCTION limits.next_wake() RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT least(
        (SELECT limits.milliseconds(limits.clock(), min(x.next_due_at)) FROM limits.limit x),
        (SELECT limits.milliseconds(
             clock_timestamp(), greatest(min(w.gone_since), pg_postmaster_start_time()) + interval '20 seconds'
         )
         FROM limits.worker w WHERE w.ended_at IS NULL AND w.kind = 'client' HAVING min(w.gone_since) IS NOT NULL)
    )
$$;
