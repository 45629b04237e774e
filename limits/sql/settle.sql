-- Settles what is due on the limit, before anything is decided on it (F8), at most p_batch slots.
-- While nothing is due, which next_due_at says, it costs one comparison. A slot that can't be settled is passed
-- over with a warning and tried again 15 seconds later; it never holds up the others.
CREATE FUNCTION limits.settle(INOUT l limits.limit, p_now timestamptz, p_batch integer DEFAULT 500)
LANGUAGE plpgsql AS $$
DECLARE
    v_slot limits.slot;
    v_seen integer := 0;
    v_settled integer := 0;
    -- Nothing is due before this: the limit's bound, or what an earlier call had to pass over.
    v_from timestamptz := l.next_due_at;
BEGIN
    IF l.next_due_at IS NULL OR l.next_due_at > p_now THEN
        RETURN;
    END IF;
    -- A state at a time: each is one ordered range of the index slot_due.
    FOR v_slot IN
        (SELECT s.* FROM limits.slot s
         WHERE s.limit_id = l.id AND s.state = 'busy' AND s.ended_at IS NULL AND s.due_at <= p_now
         ORDER BY s.due_at LIMIT p_batch)
        UNION ALL
        (SELECT s.* FROM limits.slot s
         WHERE s.limit_id = l.id AND s.state = 'waiting' AND s.ended_at IS NULL AND s.due_at <= p_now
         ORDER BY s.due_at LIMIT p_batch)
        UNION ALL
        (SELECT s.* FROM limits.slot s
         WHERE s.limit_id = l.id AND s.state = 'reserved' AND s.ended_at IS NULL AND s.due_at <= p_now
         ORDER BY s.due_at LIMIT p_batch)
        ORDER BY due_at, number
        LIMIT p_batch
    LOOP
        v_seen := v_seen + 1;
        v_from := least(v_from, v_slot.due_at);
        BEGIN
            l := limits.settle_slot(l, v_slot, p_now);
            v_settled := v_settled + 1;
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING 'slot % of limit % is passed over: %', v_slot.id, l.name, SQLERRM;
        END;
    END LOOP;
    -- What failed would be found due again at once: the search begins after it, unless more than this batch is due.
    IF v_settled < v_seen AND (v_seen < p_batch OR v_settled = 0) THEN
        l.next_due_at := least(limits.next_due(l.id, p_now), limits.after(p_now, 15000));
    ELSE
        l.next_due_at := limits.next_due(l.id, v_from);
    END IF;
END $$;
