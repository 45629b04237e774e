-- Writes down the history of one limit, from where the last call left off until p_until, which `settled_until` gave:
-- a row for each minute in which anything moved, and one for each quarter of an hour. About p_batch ended slots a
-- call, in whole minutes; true if more is left. Takes no lock that an operation on slots takes.
-- One transaction: rows and mark come together or not at all, so that whoever fails in between is followed by another
-- who does the same again.
CREATE FUNCTION limits.roll_up(p_limit_id integer, p_until timestamptz, p_batch integer) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_from timestamptz;
    v_until timestamptz := p_until;
    v_full timestamptz;
BEGIN
    INSERT INTO limits.history_mark (limit_id, since, until)
    SELECT p_limit_id, f.at, f.at FROM (SELECT limits.history_begins(p_limit_id, p_until)) f (at)
    WHERE f.at IS NOT NULL
    ON CONFLICT (limit_id) DO NOTHING;
    -- Another sweep may be at it: it is left to that one.
    SELECT m.until INTO v_from FROM limits.history_mark m WHERE m.limit_id = p_limit_id FOR UPDATE SKIP LOCKED;
    IF v_from IS NULL OR v_from >= p_until THEN
        RETURN false;
    END IF;
    SELECT date_bin(interval '1 minute', s.ended_at, 'epoch') INTO v_full FROM limits.slot s
    WHERE s.limit_id = p_limit_id AND s.ended_at >= v_from
    ORDER BY s.ended_at OFFSET p_batch LIMIT 1;
    IF v_full < v_until THEN
        v_until := greatest(v_full, v_from + interval '1 minute');
    END IF;

    INSERT INTO limits.history AS h (
        limit_id, step, at, busy, reserved, capacity, waiting, expired, by_hand, longest_wait,
        last_busy, last_reserved, last_waiting, last_capacity
    )
    SELECT p_limit_id, 60, x.at, x.peak[2], x.peak[1] - x.peak[2], x.peak[4], x.waiting,
           x.expired, x.by_hand, x.longest_wait, x.last[2], x.last[3], x.last[4], x.last[5]
    FROM limits.minutes(p_limit_id, v_from, v_until) x;

    -- A quarter is made of its minutes; the first of them begins where the quarter does, or where nothing had moved.
    INSERT INTO limits.history (
        limit_id, step, at, busy, reserved, capacity, waiting, expired, by_hand, longest_wait,
        last_busy, last_reserved, last_waiting, last_capacity
    )
    SELECT p_limit_id, 900, q.at, q.peak[2], q.peak[1] - q.peak[2], q.peak[4], q.waiting,
           q.expired, q.by_hand, q.longest_wait, q.last[2], q.last[3], q.last[4], q.last[5]
    FROM (
        SELECT date_bin(interval '15 minutes', h.at, 'epoch') AS at,
               max(ARRAY[h.busy + h.reserved, h.busy, extract(epoch FROM h.at), h.capacity]::bigint[]) AS peak,
               max(h.waiting) AS waiting, sum(h.expired) AS expired, sum(h.by_hand) AS by_hand,
               max(h.longest_wait) AS longest_wait,
               max(ARRAY[extract(epoch FROM h.at), h.last_busy, h.last_reserved, h.last_waiting, h.last_capacity]::bigint[])
                   AS last
        FROM limits.history h
        WHERE h.limit_id = p_limit_id AND h.step = 60
          AND h.at >= date_bin(interval '15 minutes', v_from, 'epoch')
          AND h.at < date_bin(interval '15 minutes', v_until, 'epoch')
        GROUP BY 1
    ) q;

    UPDATE limits.history_mark m SET until = v_until WHERE m.limit_id = p_limit_id;
    PERFORM limits.forget_history(p_limit_id, v_until);
    RETURN v_until < p_until;
END $$;
