-- Adds one entry to the append-only record of changes (O7).
CREATE FUNCTION limits.record(
    p_at timestamptz, p_limit text, p_kind text, p_before text, p_after text,
    p_actor text, p_source text, p_reason text, p_slot_id uuid DEFAULT NULL, p_label text DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO limits.change (at, limit_name, kind, before, after, actor, source, reason, slot_id, label)
    VALUES (p_at, p_limit, p_kind, p_before, p_after, p_actor, p_source, p_reason, p_slot_id, p_label);
END $$;
