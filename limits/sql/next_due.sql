-- The first instant after p_from, or at it, at which a slot of the limit falls due; none: null.
-- p_from spares the walk over the dead index entries before it.
CREATE FUNCTION limits.next_due(p_limit_id integer, p_from timestamptz) RETURNS timestamptz
LANGUAGE plpgsql AS $$
BEGIN
    RETURN least(
        (SELECT s.due_at FROM limits.slot s
         WHERE s.limit_id = p_limit_id AND s.state = 'busy' AND s.ended_at IS NULL AND s.due_at >= p_from
         ORDER BY s.due_at LIMIT 1),
        (SELECT s.due_at FROM limits.slot s
         WHERE s.limit_id = p_limit_id AND s.state = 'waiting' AND s.ended_at IS NULL AND s.due_at >= p_from
         ORDER BY s.due_at LIMIT 1),
        (SELECT s.due_at FROM limits.slot s
         WHERE s.limit_id = p_limit_id AND s.state = 'reserved' AND s.ended_at IS NULL AND s.due_at >= p_from
         ORDER BY s.due_at LIMIT 1)
    );
END $$;
