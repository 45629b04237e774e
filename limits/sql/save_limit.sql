-- Writes back what an operation moved, if it moved anything: one update of the hot row, on its page (no indexed
-- column). Only what the operations on slots move; the rest is `save_settings`.
CREATE FUNCTION limits.save_limit(l limits.limit, p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE limits.limit AS x SET
        busy = l.busy,
        reserved = l.reserved,
        waiting = l.waiting,
        last_number = l.last_number,
        head_number = l.head_number,
        next_due_at = l.next_due_at,
        revision = revision + 1,
        changed_at = p_now
    WHERE x.id = l.id
      AND (x.busy, x.reserved, x.waiting, x.last_number, x.head_number, x.next_due_at)
          IS DISTINCT FROM (l.busy, l.reserved, l.waiting, l.last_number, l.head_number, l.next_due_at);
END $$;
