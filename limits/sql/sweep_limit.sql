-- One batch of the sweep on one limit, in a transaction of its own (F8): settle what is due, withdraw what a
-- vanished client left in the queue, grant what is free. `more`: something due is left for the next batch.
-- Each count is read from how the limit's own numbers moved.
CREATE FUNCTION limits.sweep_limit(
    p_limit_id integer, p_batch integer,
    OUT expired integer, OUT lapsed integer, OUT timed_out integer, OUT withdrawn integer, OUT granted integer,
    OUT more boolean
)
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit := limits.lock_limit(p_limit_id);
    v_now timestamptz := limits.clock();
    v_before limits.limit := l;
    v_gone integer[] := limits.gone_workers();
    v_slot_id uuid;
BEGIN
    l := limits.settle(l, v_now, p_batch);
    expired := v_before.busy - l.busy;
    lapsed := l.last_number - v_before.last_number;
    timed_out := (v_before.waiting + v_before.reserved) - (l.waiting + l.reserved);

    withdrawn := l.waiting + l.reserved;
    FOR v_slot_id IN
        SELECT s.id FROM limits.slot s
        WHERE s.worker_id = ANY (v_gone) AND s.ended_at IS NULL AND s.confirmed_at IS NULL
          -- No other index serves this: planned on an empty table all look alike.
          AND s.limit_id IS NOT DISTINCT FROM p_limit_id
        LIMIT p_batch
    LOOP
        BEGIN
            l := limits.withdraw_slot(l, v_slot_id, v_now, 'system', 'the client that asked is gone');
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING 'slot % of limit % is passed over: %', v_slot_id, l.name, SQLERRM;
        END;
    END LOOP;
    withdrawn := withdrawn - l.waiting - l.reserved;

    v_before := l;
    l := limits.grant_free(l, v_now);
    granted := l.reserved - v_before.reserved;
    timed_out := timed_out + (v_before.waiting - l.waiting) - granted;
    PERFORM limits.save_limit(l, v_now);
    more := coalesce(l.next_due_at <= v_now, false) OR withdrawn >= p_batch;
END $$;
