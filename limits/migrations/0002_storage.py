"""What Django's models cannot say: storage, the append-only record, the test clock's guard, the one row of the box."""

from django.db import migrations

FORWARD = """
-- Updates of the hot row stay on its page (HOT): no counter is indexed, and the page has room.
ALTER TABLE limits.limit SET (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
-- The queue's head and the ended rows leave dead entries; vacuum early, in small bites.
ALTER TABLE limits.slot SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
                             autovacuum_analyze_scale_factor = 0.02);

-- In a function, since a CHECK is parsed anew by every statement: written out, this one costs as much as the rest.
CREATE FUNCTION limits.slot_is_possible(
    state text, granted_at timestamptz, reserved_until timestamptz, expires_at timestamptz, confirmed_at timestamptz,
    ended_at timestamptz, release_key text
) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF expires_at <= granted_at OR reserved_until > expires_at OR confirmed_at < granted_at THEN
        RETURN false;
    END IF;
    RETURN CASE state
        WHEN 'waiting' THEN num_nonnulls(granted_at, reserved_until, expires_at, confirmed_at, ended_at, release_key) = 0
        WHEN 'reserved' THEN num_nulls(granted_at, reserved_until, expires_at) = 0
            AND num_nonnulls(confirmed_at, ended_at, release_key) = 0
        WHEN 'busy' THEN num_nulls(granted_at, expires_at, confirmed_at) = 0
            AND num_nonnulls(reserved_until, ended_at, release_key) = 0
        WHEN 'released' THEN num_nulls(granted_at, expires_at, confirmed_at, ended_at) = 0 AND reserved_until IS NULL
        WHEN 'expired' THEN num_nulls(granted_at, expires_at, confirmed_at, ended_at) = 0
            AND num_nonnulls(reserved_until, release_key) = 0
        WHEN 'timed_out' THEN ended_at IS NOT NULL
            AND num_nonnulls(granted_at, reserved_until, expires_at, confirmed_at, release_key) = 0
        WHEN 'withdrawn' THEN ended_at IS NOT NULL
            AND num_nonnulls(granted_at, reserved_until, expires_at, confirmed_at, release_key) = 0
        ELSE false
    END;
END $$;
ALTER TABLE limits.slot ADD CONSTRAINT slot_possible CHECK (limits.slot_is_possible(
    state, granted_at, reserved_until, expires_at, confirmed_at, ended_at, release_key
));

CREATE FUNCTION limits.limit_is_possible(l limits.limit) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN l.name ~ '^[a-z0-9._-]{1,64}$'
        AND l.declared_capacity BETWEEN 1 AND 100000 AND l.capacity BETWEEN 1 AND 100000
        AND l.declared_max_hold BETWEEN 1 AND 2592000000 AND l.max_hold BETWEEN 1 AND 2592000000
        AND (l.paused_at IS NULL) = (l.paused_by IS NULL) AND (l.paused_at IS NOT NULL OR l.paused_reason IS NULL)
        AND l.busy >= 0 AND l.reserved >= 0 AND l.waiting >= 0;
END $$;
ALTER TABLE limits.limit ADD CONSTRAINT limit_possible CHECK (limits.limit_is_possible("limit"));

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
ALTER TABLE limits.limit DROP CONSTRAINT limit_possible;
DROP FUNCTION limits.limit_is_possible(limits.limit);
ALTER TABLE limits.slot DROP CONSTRAINT slot_possible;
DROP FUNCTION limits.slot_is_possible(text, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, text);
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
