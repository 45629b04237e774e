"""What Django's models cannot say: storage, the append-only record, the test clock's guard, the one row of the box."""

from django.db import migrations

FORWARD = """
-- Updates of the hot row stay on its page (HOT): no counter is indexed, and the page has room.
ALTER TABLE limits.limit SET (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
-- The queue's head and the ended rows leave dead entries; vacuum early, in small bites.
ALTER TABLE limits.slot SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
                             autovacuum_analyze_scale_factor = 0.02);

-- In a function, since a CHECK is parsed anew by every statement: written out, this one costs as much as the rest.
-- Of the whole row for the same reason, and state by state, the hot ones first: what is not reached costs nothing.
CREATE FUNCTION limits.slot_is_possible(s limits.slot) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF s.state = 'busy' THEN
        RETURN s.expires_at > s.granted_at AND s.confirmed_at >= s.granted_at
            AND num_nulls(s.granted_at, s.expires_at, s.confirmed_at) = 0
            AND num_nonnulls(s.reserved_until, s.ended_at, s.release_key) = 0;
    END IF;
    IF s.state = 'released' THEN
        RETURN s.expires_at > s.granted_at AND s.confirmed_at >= s.granted_at
            AND num_nulls(s.granted_at, s.expires_at, s.confirmed_at, s.ended_at) = 0 AND s.reserved_until IS NULL;
    END IF;
    IF s.state = 'waiting' THEN
        RETURN num_nonnulls(s.granted_at, s.reserved_until, s.expires_at, s.confirmed_at, s.ended_at, s.release_key) = 0;
    END IF;
    IF s.state = 'reserved' THEN
        RETURN s.expires_at > s.granted_at AND s.reserved_until <= s.expires_at
            AND num_nulls(s.granted_at, s.reserved_until, s.expires_at) = 0
            AND num_nonnulls(s.confirmed_at, s.ended_at, s.release_key) = 0;
    END IF;
    IF s.state = 'expired' THEN
        RETURN s.expires_at > s.granted_at AND s.confirmed_at >= s.granted_at
            AND num_nulls(s.granted_at, s.expires_at, s.confirmed_at, s.ended_at) = 0
            AND num_nonnulls(s.reserved_until, s.release_key) = 0;
    END IF;
    RETURN s.state IN ('timed_out', 'withdrawn') AND s.ended_at IS NOT NULL
        AND num_nonnulls(s.granted_at, s.reserved_until, s.expires_at, s.confirmed_at, s.release_key) = 0;
END $$;
ALTER TABLE limits.slot ADD CONSTRAINT slot_possible CHECK (limits.slot_is_possible(slot));

-- Each operation moves the counters; the rest of a limit's row changes seldom, and is checked when it does.
ALTER TABLE limits.limit ADD CONSTRAINT limit_possible CHECK (least(busy, reserved, waiting) >= 0);
CREATE FUNCTION limits.refuse_impossible_limit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.name ~ '^[a-z0-9._-]{1,64}$'
        AND NEW.declared_capacity BETWEEN 1 AND 100000 AND NEW.capacity BETWEEN 1 AND 100000
        AND NEW.declared_max_hold BETWEEN 1 AND 2592000000 AND NEW.max_hold BETWEEN 1 AND 2592000000
        AND (NEW.paused_at IS NULL) = (NEW.paused_by IS NULL)
        AND (NEW.paused_at IS NOT NULL OR NEW.paused_reason IS NULL)
    THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'row of limits.limit violates limit_possible'
        USING ERRCODE = 'check_violation', SCHEMA = 'limits', TABLE = 'limit', CONSTRAINT = 'limit_possible';
END $$;
CREATE TRIGGER limit_possible AFTER INSERT OR UPDATE OF
    name, declared_capacity, declared_max_hold, capacity, max_hold, paused_at, paused_by, paused_reason
    ON limits.limit FOR EACH ROW EXECUTE FUNCTION limits.refuse_impossible_limit();

CREATE FUNCTION limits.refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the record of changes is append-only';
END $$;
CREATE TRIGGER change_append_only BEFORE UPDATE OR DELETE ON limits.change
    FOR EACH ROW EXECUTE FUNCTION limits.refuse_rewriting();
CREATE TRIGGER change_not_emptied BEFORE TRUNCATE ON limits.change
    FOR EACH STATEMENT EXECUTE FUNCTION limits.refuse_rewriting();

ALTER TABLE limits.clock_shift ADD CONSTRAINT clock_shift_test_database
    CHECK (current_database() LIKE 'test\\_%');

INSERT INTO limits.box (id) VALUES (true);
"""

BACKWARD = """
DELETE FROM limits.box;
ALTER TABLE limits.clock_shift DROP CONSTRAINT clock_shift_test_database;
DROP TRIGGER limit_possible ON limits.limit;
DROP FUNCTION limits.refuse_impossible_limit();
ALTER TABLE limits.limit DROP CONSTRAINT limit_possible;
ALTER TABLE limits.slot DROP CONSTRAINT slot_possible;
DROP FUNCTION limits.slot_is_possible(limits.slot);
DROP TRIGGER change_not_emptied ON limits.change;
DROP TRIGGER change_append_only ON limits.change;
DROP FUNCTION limits.refuse_rewriting();
ALTER TABLE limits.slot RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
                               autovacuum_analyze_scale_factor);
ALTER TABLE limits.limit RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
"""


class Migration(migrations.Migration):
    dependencies = [("limits", "0001_initial")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
