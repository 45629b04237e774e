-- The value of an override; null without one.
CREATE FUNCTION limits.override_of(p_limit_id integer, p_field text) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT o.value FROM limits.override o WHERE o.limit_id = p_limit_id AND o.field = p_field
$$;
