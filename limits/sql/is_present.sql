-- Whether the process of this id lives: its session holds its lock (Q7).
CREATE FUNCTION limits.is_present(p_id integer) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM pg_locks k
        WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 2
          AND k.classid = 1818846575 AND k.objid = p_id::oid
          AND k.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
    )
$$;
