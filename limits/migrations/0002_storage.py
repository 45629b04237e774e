"""What Django's models cannot say: storage, the append-only record, the test clock's guard, the one row of the box."""

from django.db import migrations

FORWARD = """
-- Updates of the hot row stay on its page (HOT): no counter is indexed, and the page has room.
ALTER TABLE limits.limit SET (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
-- The queue's head and the ended rows leave dead entries; vacuum early, in small bites.
ALTER TABLE limits.slot SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
                             autovacuum_analyze_scale_factor = 0.02);

CREATE FUNCTION limits.refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the record of changes is append-only';
END $$;
CREATE TRIGGER change_append_only BEFORE UPDATE OR DELETE ON limits.change
    FOR EACH ROW EXECUTE FUNCTION limits.refuse_rewriting();

ALTER TABLE limits.clock_shift ADD CONSTRAINT clock_shift_test_database
    CHECK (current_database() LIKE 'test\\_%');

INSERT INTO limits.box (id) VALUES (true);
"""

BACKWARD = """
DELETE FROM limits.box;
ALTER TABLE limits.clock_shift DROP CONSTRAINT clock_shift_test_database;
DROP TRIGGER change_append_only ON limits.change;
DROP FUNCTION limits.refuse_rewriting();
ALTER TABLE limits.slot RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
                               autovacuum_analyze_scale_factor);
ALTER TABLE limits.limit RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
"""


class Migration(migrations.Migration):
    dependencies = [("limits", "0001_initial")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
