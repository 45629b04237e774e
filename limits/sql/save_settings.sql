-- Writes back what a person, or a deploy, changed about a limit, if that is anything.
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
        revision = revision + 1,
        changed_at = p_now
    WHERE x.id = l.id
      AND (x.declared, x.declared_capacity, x.declared_max_hold, x.capacity, x.max_hold, x.paused_at)
          IS DISTINCT FROM (l.declared, l.declared_capacity, l.declared_max_hold, l.capacity, l.max_hold, l.paused_at);
END $$;
