-- For a runtime's trigger: a run that had ended goes on, rewound or resumed. Its calls ask entirely anew (A5): what
-- ended before does not answer them any more. Slots it still holds stay its own.
CREATE FUNCTION limits.report_revived_run(p_run_id text) RETURNS void
LANGUAGE sql AS $$
    UPDATE limits.slot SET key = key || ' (before ' || id || ')'
    WHERE run_id = p_run_id AND ended_at IS NOT NULL AND key NOT LIKE '% (before %'
$$;
