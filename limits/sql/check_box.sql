-- Compares what the limits' rows say with what the slots say, limit by limit under its lock: one sentence for each
-- broken invariant. Reads every live slot: for tests and the doctor, not for screens.
CREATE FUNCTION limits.check_box() RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit;
    v_now timestamptz;
    v_id integer;
    v_real record;
BEGIN
    FOR v_id IN SELECT x.id FROM limits.limit x ORDER BY x.id LOOP
        l := limits.lock_limit(v_id);
        v_now := limits.clock();
        SELECT
            count(*) FILTER (WHERE s.state = 'busy') AS busy,
            count(*) FILTER (WHERE s.state = 'reserved') AS reserved,
            count(*) FILTER (WHERE s.state = 'waiting') AS waiting,
            min(s.number) FILTER (WHERE s.state = 'waiting') AS head,
            min(s.due_at) AS due_at,
            max(s.number) AS last
        INTO v_real
        FROM limits.slot s WHERE s.limit_id = l.id AND s.ended_at IS NULL;
        IF (l.busy, l.reserved, l.waiting) <> (v_real.busy, v_real.reserved, v_real.waiting) THEN
            RETURN NEXT format(
                '%s: counts say %s busy, %s reserved, %s waiting; the slots say %s, %s, %s', l.name,
                l.busy, l.reserved, l.waiting, v_real.busy, v_real.reserved, v_real.waiting
            );
        END IF;
        IF v_real.head < l.head_number THEN
            RETURN NEXT format('%s: number %s waits before the head bound %s', l.name, v_real.head, l.head_number);
        END IF;
        IF v_real.last > l.last_number THEN
            RETURN NEXT format('%s: number %s was never drawn', l.name, v_real.last);
        END IF;
        IF v_real.due_at < coalesce(l.next_due_at, 'infinity') THEN
            RETURN NEXT format('%s: a slot is due at %s, before the bound %s', l.name, v_real.due_at, l.next_due_at);
        END IF;
        IF l.paused_at IS NULL AND v_real.waiting > 0 AND v_real.busy + v_real.reserved < l.capacity
        THEN
            RETURN NEXT format('%s: a slot is free beside a waiter', l.name);
        END IF;
        IF (l.capacity, l.max_hold) <> (
            coalesce(limits.override_of(l.id, 'capacity'), l.declared_capacity),
            coalesce(limits.override_of(l.id, 'max_hold'), l.declared_max_hold)
        ) THEN
            RETURN NEXT format('%s: the effective values are not override or declared', l.name);
        END IF;
    END LOOP;
END $$;
