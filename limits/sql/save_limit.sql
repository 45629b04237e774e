-- Writes back what an operation moved, if it moved anything: one update of the hot row, on its page (no indexed
-- column).
CREATE FUNCTION limits.save_limit(l limits.limit, p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE limits.limit AS x SET
        declared = l.declared,
        declared_capacity = l.declared_capacity,
        declared_max_hold = l.declared_max_hold,
        capacity = l.capacity,
        max_hold = l.max_hold,
        paused_at = l.paused_at,
        paused_by = l.paused_by,
        paused_reason = l.paused_reason,
        busy = l.busy,
        reserved = l.reserved,
        waiting = l.waiting,
        last_number = l.last_number,
        head_number = l.head_number,
        next_due_at = l.next_due_at,
        revision = revision + 1,
        changed_at = p_now
    WHERE x.id = l.id AND x IS DISTINCT FROM l;
END $$;
