-- Whole milliseconds from one instant to another; never negative.
CREATE FUNCTION limits.milliseconds(p_from timestamptz, p_until timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT greatest(0, ceil(extract(epoch FROM p_until - p_from) * 1000))::bigint
$$;
