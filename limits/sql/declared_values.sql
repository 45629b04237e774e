-- What the config says of a limit, as the record of changes keeps it: {"capacity": n, "max_hold": ms}.
CREATE FUNCTION limits.declared_values(l limits.limit) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT json_build_object('capacity', l.declared_capacity, 'max_hold', l.declared_max_hold)::text
$$;
