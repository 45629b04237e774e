-- The minute now: all that happened on the limit before it is committed. Whatever an operation does, it stamps with a
-- time read under the limit's lock, and commits before it gives the lock away; so whoever has had the lock since
-- misses nothing older. Nothing is done under it, and the lock goes with the end of this transaction.
CREATE FUNCTION limits.settled_until(p_limit_id integer) RETURNS timestamptz
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit := limits.lock_limit(p_limit_id);
BEGIN
    RETURN date_bin(interval '1 minute', limits.clock(), 'epoch');
END $$;
