-- When a limit's effective capacity changed, from p_from on, and from what to what: by a person's override or its
-- reset, or by a deploy while no override was in force. The record is all there is to go by, so who set what before
-- p_from is looked up in it too.
CREATE FUNCTION limits.capacity_changes(p_limit_name text, p_from timestamptz)
RETURNS TABLE (at timestamptz, before integer, after integer, actor text, source text, reason text)
LANGUAGE sql STABLE AS $$
    SELECT c.at, c.before::integer, c.after::integer, c.actor, c.source, c.reason
    FROM limits.change c
    WHERE c.limit_name = p_limit_name AND c.kind IN ('capacity', 'reset_capacity') AND c.at >= p_from
      AND (c.source <> 'deploy' OR coalesce((
          SELECT x.kind = 'reset_capacity' FROM limits.change x
          WHERE x.limit_name = c.limit_name AND x.kind IN ('capacity', 'reset_capacity') AND x.id < c.id
            AND x.source <> 'deploy'
          ORDER BY x.id DESC LIMIT 1
      ), true))
$$;
