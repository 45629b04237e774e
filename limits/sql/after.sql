-- The instant p_milliseconds after p_from. A day is 24 hours here, whatever the session's time zone does.
CREATE FUNCTION limits.after(p_from timestamptz, p_milliseconds bigint) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT p_from + p_milliseconds * interval '1 millisecond'
$$;
