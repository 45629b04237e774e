-- The one clock (F9). Read once per operation, after the lock is held, and passed on as p_now.
-- Only a test database can hold a shift, so only there is one looked up.
CREATE FUNCTION limits.clock() RETURNS timestamptz
LANGUAGE plpgsql AS $$
BEGIN
    IF starts_with(current_database(), 'test_') THEN
        RETURN clock_timestamp()
            + make_interval(secs => coalesce((SELECT c.shift FROM limits.clock_shift c), 0) / 1000.0);
    END IF;
    RETURN clock_timestamp();
END $$;
