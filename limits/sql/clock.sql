-- The one clock (F9). Read once per operation, after the lock is held, and passed on as p_now.
-- Only a test database can hold a shift.
CREATE FUNCTION limits.clock() RETURNS timestamptz
LANGUAGE plpgsql AS $$
BEGIN
    RETURN clock_timestamp()
        + make_interval(secs => coalesce((SELECT c.shift FROM limits.clock_shift c), 0) / 1000.0);
END $$;
