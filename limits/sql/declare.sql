-- Brings the declared values in line with a config, all in one transaction (D6): p_limits is
-- {"name": {"capacity": n, "max_hold": ms}}. Overrides, pauses, held slots and the queues stay as they are (D7);
-- where the effective capacity rises, waiters are granted at once (F4). A name that is missing is no longer
-- declared (D8). Syncs run one after the other under a lock of their own, and lock limits in id order.
CREATE FUNCTION limits.declare(
    p_workspace text, p_limits jsonb,
    OUT workspace text, OUT added text[], OUT changed text[], OUT removed text[], OUT granted integer
)
LANGUAGE plpgsql AS $$
DECLARE
    l limits.limit;
    v_before limits.limit;
    v_now timestamptz;
    v_id integer;
    v_new jsonb;
    v_recorded boolean;
BEGIN
    added := '{}';
    changed := '{}';
    removed := '{}';
    granted := 0;
    -- Many processes that start at once sync in turn, each over all limits.
    PERFORM set_config('lock_timeout', '60s', true);
    PERFORM pg_advisory_xact_lock(1818846574, 0);
    INSERT INTO limits.box (id) VALUES (true) ON CONFLICT DO NOTHING;
    UPDATE limits.box b SET workspace = coalesce(b.workspace, p_workspace) RETURNING b.workspace INTO workspace;
    IF workspace <> p_workspace THEN
        RETURN;
    END IF;
    v_now := limits.clock();
    WITH fresh AS (
        INSERT INTO limits.limit (
            name, declared, declared_capacity, declared_max_hold, capacity, max_hold, changed_at
        )
        SELECT d.key, true, (d.value ->> 'capacity')::integer, (d.value ->> 'max_hold')::bigint,
               (d.value ->> 'capacity')::integer, (d.value ->> 'max_hold')::bigint, v_now
        FROM jsonb_each(p_limits) d
        WHERE NOT EXISTS (SELECT FROM limits.limit x WHERE x.name = d.key)
        RETURNING name
    )
    SELECT coalesce(array_agg(f.name ORDER BY f.name), '{}') INTO added FROM fresh f;

    FOR v_id IN SELECT x.id FROM limits.limit x ORDER BY x.id LOOP
        l := limits.lock_limit(v_id);
        v_before := l;
        v_now := limits.clock();
        v_new := p_limits -> l.name;
        IF v_new IS NULL AND NOT l.declared THEN
            CONTINUE;
        END IF;
        IF v_new IS NULL THEN
            v_recorded := true;
            l.declared := false;
            removed := removed || l.name::text;
            PERFORM limits.record(
                v_now, l.name, 'undeclare', limits.declared_values(l), NULL, 'deploy', 'deploy', NULL
            );
        ELSE
            l.declared := true;
            l.declared_capacity := (v_new ->> 'capacity')::integer;
            l.declared_max_hold := (v_new ->> 'max_hold')::bigint;
            l.capacity := coalesce(limits.override_of(l.id, 'capacity'), l.declared_capacity);
            l.max_hold := coalesce(limits.override_of(l.id, 'max_hold'), l.declared_max_hold);
            IF l.name = ANY (added) OR NOT v_before.declared THEN
                PERFORM limits.record(
                    v_now, l.name, 'declare', NULL, limits.declared_values(l), 'deploy', 'deploy', NULL
                );
            END IF;
            v_recorded := l IS DISTINCT FROM v_before OR l.name = ANY (added);
            IF l IS DISTINCT FROM v_before THEN
                changed := changed || l.name::text;
            END IF;
            IF l.declared_capacity <> v_before.declared_capacity THEN
                PERFORM limits.record(
                    v_now, l.name, 'capacity', v_before.declared_capacity::text, l.declared_capacity::text,
                    'deploy', 'deploy', NULL
                );
            END IF;
            IF l.declared_max_hold <> v_before.declared_max_hold THEN
                PERFORM limits.record(
                    v_now, l.name, 'max_hold', v_before.declared_max_hold::text, l.declared_max_hold::text,
                    'deploy', 'deploy', NULL
                );
            END IF;
        END IF;
        l := limits.settle(l, v_now);
        granted := granted - l.reserved;
        l := limits.grant_free(l, v_now);
        granted := granted + l.reserved;
        IF v_recorded THEN
            PERFORM limits.save_settings(l, v_now);
        ELSE
            PERFORM limits.save_limit(l, v_now);
        END IF;
    END LOOP;
END $$;
