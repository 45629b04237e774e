-- Writes back what a person, or a deploy, changed about a limit, and whatever the operation moved besides: one step of
-- the revision for it all, also where no value is another one (an override equal to the value in force is news too).
CREATE FUNCTION limits.save_settings(l limits.limit, p_now timestamptz) RETURNS void
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
    WHERE x.id = l.id;
END $$;
