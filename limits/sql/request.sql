-- A run or client asks for a slot (A2): busy at once if one is free and nobody waits, else queued.
-- The same call, named by its key, finds the slot it already asked for (A5). A timeout of zero never queues (A6).
-- p_worker_id names the process that waits: a vanished one is withdrawn from the queue (Q7).
-- p_runtime says whose run it is: one that has ended gets nothing, and a replay finds how the call ended before: timed
-- out stays timed out; released or expired asks anew, up to the original deadline (A5).
-- p_asker names the one who asked, of all that share the key: only that one may `abandon` the slot. A run's call that
-- is made again, like after a take-over, takes it from the execution before, whatever that one still does.
CREATE FUNCTION limits.request(
    p_limit text, p_key text, p_label text, p_timeout bigint,
    p_run_id text, p_workflow text, p_worker_id integer, p_asker uuid DEFAULT NULL, p_runtime text DEFAULT NULL,
    OUT outcome text, OUT slot_id uuid, OUT "position" bigint, OUT wait_left bigint
)
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit;
    v_limit_id integer := (SELECT x.id FROM limits.limit x WHERE x.name = p_limit);
    -- Drawn before the lock, to hold that for less long.
    v_new_id uuid := limits.new_id();
    v_now timestamptz;
    v_due_at timestamptz;
    v_slot record;
BEGIN
    IF v_limit_id IS NULL THEN
        outcome := 'unknown_limit';
        RETURN;
    END IF;
    l := limits.lock_limit(v_limit_id);
    v_now := limits.clock();
    IF l.next_due_at <= v_now THEN
        l := limits.settle(l, v_now);
        l := limits.grant_free(l, v_now);
        PERFORM limits.save_limit(l, v_now);
    END IF;

    IF p_runtime IS NOT NULL THEN
        IF NOT limits.run_is_alive(p_runtime, p_run_id) THEN
            outcome := 'run_ended';
            RETURN;
        END IF;
        -- The latest of the call's slots; none of those from before the run was rewound, whose keys were changed.
        SELECT s.id, s.state, s.times_out_at INTO v_slot FROM limits.slot s
        WHERE s.run_id = p_run_id AND s.key = p_key AND s.limit_id IS NOT DISTINCT FROM l.id
        ORDER BY s.run_id, s.key, s.ended_at DESC LIMIT 1;
        IF v_slot.state = 'timed_out' THEN
            outcome := v_slot.state;
            slot_id := v_slot.id;
            wait_left := 0;
            RETURN;
        ELSIF v_slot.state IN ('released', 'expired') THEN
            p_timeout := limits.milliseconds(v_now, v_slot.times_out_at);
        END IF;
    END IF;

    v_due_at := limits.after(v_now, p_timeout);
    IF NOT l.declared THEN
        outcome := 'undeclared';
    ELSIF l.waiting = 0 AND l.paused_at IS NULL AND l.busy + l.reserved < l.capacity THEN
        outcome := 'busy';
        v_due_at := limits.after(v_now, l.max_hold);
        l.busy := l.busy + 1;
    ELSIF p_timeout = 0 THEN
        outcome := 'no_slot';
    ELSE
        outcome := 'waiting';
        l.waiting := l.waiting + 1;
        "position" := l.waiting;
        IF NOT limits.hold_worker(p_worker_id) THEN
            outcome := 'gone';
            RETURN;
        END IF;
    END IF;
    IF outcome IN ('busy', 'waiting') THEN
        l.last_number := l.last_number + 1;
        l.next_due_at := least(l.next_due_at, v_due_at);
        -- Its key names the call: where it has a slot already, nothing is stored, and l is forgotten.
        INSERT INTO limits.slot (
            id, limit_id, state, number, key, label, run_id, workflow, runtime, worker_id, asker,
            asked_at, times_out_at, granted_at, confirmed_at, expires_at
        ) VALUES (
            v_new_id, l.id, outcome, l.last_number, p_key, p_label, p_run_id, p_workflow, p_runtime, p_worker_id,
            p_asker, v_now, limits.after(v_now, p_timeout),
            CASE outcome WHEN 'busy' THEN v_now END,
            CASE outcome WHEN 'busy' THEN v_now END,
            CASE outcome WHEN 'busy' THEN v_due_at END
        ) ON CONFLICT (limit_id, key) WHERE ended_at IS NULL DO NOTHING;
        IF FOUND THEN
            PERFORM limits.save_limit(l, v_now);
            slot_id := v_new_id;
            wait_left := p_timeout;
            RETURN;
        END IF;
    END IF;

    -- As a range in order, which only the index of keys gives: planned on an empty table all indexes look alike.
    SELECT s.id, s.state, s.times_out_at, s.worker_id, s.asker INTO v_slot FROM limits.slot s
    WHERE s.limit_id = l.id AND s.key BETWEEN p_key AND p_key AND s.ended_at IS NULL
    ORDER BY s.key;
    IF FOUND THEN
        outcome := v_slot.state;
        "position" := NULL;
        -- Asked again by somebody else, like a redelivered task: from now on that one waits.
        IF v_slot.state <> 'busy' AND p_worker_id IS NOT NULL
            AND (v_slot.worker_id, v_slot.asker) IS DISTINCT FROM (p_worker_id, p_asker)
        THEN
            IF NOT limits.hold_worker(p_worker_id) THEN
                outcome := 'gone';
                RETURN;
            END IF;
            UPDATE limits.slot SET worker_id = p_worker_id, asker = p_asker WHERE id = v_slot.id;
        END IF;
        IF p_runtime IS NOT NULL AND v_slot.asker IS DISTINCT FROM p_asker THEN
            UPDATE limits.slot SET asker = p_asker WHERE id = v_slot.id;
        END IF;
        slot_id := v_slot.id;
        wait_left := limits.milliseconds(v_now, v_slot.times_out_at);
    END IF;
END $$;
