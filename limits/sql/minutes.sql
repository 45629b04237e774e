-- What happened on a limit from p_from until p_until, both whole minutes: a row for the first minute and for each
-- other one in which anything moved, reckoned from the slots' own timestamps and the record of changes.
-- Reads backwards: the counters are exact now, so what was before an event is what is now without that event and all
-- later ones. Whatever a slot does later, it can't falsify an earlier minute, and no error adds up.
-- STABLE: counters and slots are read in the caller's one snapshot.
--
-- `peak`: of the moments of the minute the one with most slots held, the one with most busy first, then the latest:
-- {held, busy, microseconds, capacity}. `last`: how the minute ended: {microseconds, busy, reserved, waiting, capacity}.
CREATE FUNCTION limits.minutes(p_limit_id integer, p_from timestamptz, p_until timestamptz)
RETURNS TABLE (
    at timestamptz, peak bigint[], waiting integer, last bigint[], expired integer, by_hand integer, longest_wait bigint
)
LANGUAGE sql STABLE AS $$
    WITH l AS MATERIALIZED (
        SELECT x.id, x.name, x.busy, x.reserved, x.waiting, x.capacity FROM limits.limit x WHERE x.id = p_limit_id
    ),
    -- Every slot of which an event may lie behind p_from. The live ones that have stood still since are as the
    -- counters say. They are not read: numbers are drawn, and grants made, in order, so that the search ends at the
    -- first older one. A run that missed its slot has a new number and is passed over.
    lives AS (
        SELECT s.asked_at, s.granted_at, s.confirmed_at, s.ended_at, s.state FROM limits.slot s
        WHERE s.limit_id = p_limit_id AND s.ended_at >= p_from AND s.asked_at < p_until
        UNION ALL
        SELECT s.asked_at, s.granted_at, s.confirmed_at, s.ended_at, s.state FROM limits.slot s
        WHERE s.limit_id = p_limit_id AND s.state = 'waiting' AND s.ended_at IS NULL AND s.number > coalesce((
            SELECT x.number FROM limits.slot x
            WHERE x.limit_id = p_limit_id AND x.state = 'waiting' AND x.ended_at IS NULL
              AND x.asked_at < p_from AND x.missed = 0
            ORDER BY x.number DESC LIMIT 1
        ), 0)
        UNION ALL
        SELECT s.asked_at, s.granted_at, s.confirmed_at, s.ended_at, s.state FROM limits.slot s
        WHERE s.limit_id = p_limit_id AND s.state = 'reserved' AND s.ended_at IS NULL
        UNION ALL
        SELECT s.asked_at, s.granted_at, s.confirmed_at, s.ended_at, s.state FROM limits.slot s
        WHERE s.limit_id = p_limit_id AND s.state = 'busy' AND s.ended_at IS NULL AND s.number > coalesce((
            SELECT x.number FROM limits.slot x
            WHERE x.limit_id = p_limit_id AND x.state = 'busy' AND x.ended_at IS NULL
              -- Confirmed up to two minutes after its grant.
              AND x.granted_at < p_from - interval '2 minutes'
            ORDER BY x.number DESC LIMIT 1
        ), 0)
    ),
    events AS MATERIALIZED (
        SELECT e.* FROM lives s CROSS JOIN LATERAL (VALUES
            (s.asked_at, 1, 0, 0, 0, 0, 0, NULL),
            (s.granted_at, -1, 1, 0, 0, 0, 0, s.granted_at - s.asked_at),
            (s.confirmed_at, 0, -1, 1, 0, 0, 0, NULL),
            (s.ended_at, CASE WHEN s.confirmed_at IS NULL THEN -1 ELSE 0 END, 0,
             CASE WHEN s.confirmed_at IS NULL THEN 0 ELSE -1 END, 0,
             CASE s.state WHEN 'expired' THEN 1 ELSE 0 END, 0,
             CASE WHEN s.granted_at IS NULL THEN s.ended_at - s.asked_at END)
        ) AS e (at, waiting, reserved, busy, capacity, expired, by_hand, wait)
        WHERE e.at >= p_from
        UNION ALL
        SELECT c.at, 0, 0, 0, c.after - c.before, 0, 0, NULL FROM l, limits.capacity_changes(l.name, p_from) c
        UNION ALL
        SELECT c.at, 0, 0, 0, 0, 0, 1, NULL FROM l
        JOIN limits.change c ON c.limit_name = l.name AND c.kind = 'release' AND c.at >= p_from AND c.at < p_until
        UNION ALL
        SELECT p_from, 0, 0, 0, 0, 0, 0, NULL
    ),
    before AS MATERIALIZED (
        SELECT l.busy - sum(e.busy) AS busy, l.reserved - sum(e.reserved) AS reserved,
               l.waiting - sum(e.waiting) AS waiting, l.capacity - sum(e.capacity) AS capacity
        FROM l, events e GROUP BY l.busy, l.reserved, l.waiting, l.capacity
    ),
    -- What one transaction did at one instant happened at once.
    instants AS (
        SELECT e.at, date_bin(interval '1 minute', e.at, 'epoch') AS minute,
               sum(e.waiting) AS waiting, sum(e.reserved) AS reserved, sum(e.busy) AS busy,
               sum(e.capacity) AS capacity, sum(e.expired) AS expired, sum(e.by_hand) AS by_hand, max(e.wait) AS wait
        FROM events e WHERE e.at < p_until GROUP BY e.at
    ),
    levels AS (
        SELECT i.at, i.minute, i.expired, i.by_hand, i.wait,
               b.busy + sum(i.busy) OVER w AS busy, b.reserved + sum(i.reserved) OVER w AS reserved,
               b.waiting + sum(i.waiting) OVER w AS waiting, b.capacity + sum(i.capacity) OVER w AS capacity,
               i.busy AS d_busy, i.reserved AS d_reserved, i.waiting AS d_waiting, i.capacity AS d_capacity,
               -- As a minute begins, it stands where the one before ended.
               i.at > i.minute AND row_number() OVER (PARTITION BY i.minute ORDER BY i.at) = 1 AS first
        FROM instants i, before b
        WINDOW w AS (ORDER BY i.at)
    ),
    moments AS (
        SELECT v.at, v.minute, v.busy, v.reserved, v.waiting, v.capacity, v.expired, v.by_hand, v.wait FROM levels v
        UNION ALL
        SELECT v.minute, v.minute, v.busy - v.d_busy, v.reserved - v.d_reserved, v.waiting - v.d_waiting,
               v.capacity - v.d_capacity, 0, 0, NULL
        FROM levels v WHERE v.first
    )
    SELECT m.minute,
           max(ARRAY[m.busy + m.reserved, m.busy, extract(epoch FROM m.at) * 1000000, m.capacity]::bigint[]),
           max(m.waiting)::integer,
           max(ARRAY[extract(epoch FROM m.at) * 1000000, m.busy, m.reserved, m.waiting, m.capacity]::bigint[]),
           sum(m.expired)::integer, sum(m.by_hand)::integer,
           ceil(extract(epoch FROM max(m.wait)) * 1000)::bigint
    FROM moments m GROUP BY m.minute
$$;
