-- Stores and records one override; false if just this override stood already. A value equal to the declared one
-- is an override too: it survives a deploy (O5).
CREATE FUNCTION limits.set_override(
    l limits.limit, p_field text, p_value bigint, p_now timestamptz, p_actor text, p_source text, p_reason text
) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_before bigint := CASE p_field WHEN 'capacity' THEN l.capacity ELSE l.max_hold END;
BEGIN
    IF EXISTS (
        SELECT FROM limits.override o WHERE o.limit_id = l.id AND o.field = p_field AND o.value = p_value
    ) THEN
        RETURN false;
    END IF;
    INSERT INTO limits.override AS o (limit_id, field, value, set_at, set_by, source, reason)
    VALUES (l.id, p_field, p_value, p_now, p_actor, p_source, p_reason)
    ON CONFLICT (limit_id, field) DO UPDATE
    SET value = excluded.value, set_at = excluded.set_at, set_by = excluded.set_by, source = excluded.source,
        reason = excluded.reason;
    PERFORM limits.record(p_now, l.name, p_field, v_before::text, p_value::text, p_actor, p_source, p_reason);
    RETURN true;
END $$;
