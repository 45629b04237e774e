-- A process enters the box. Its id is what its listening session locks to prove that it lives (Q7).
CREATE FUNCTION limits.join_box(p_kind text, p_name text) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    v_id integer;
BEGIN
    INSERT INTO limits.worker (kind, name, joined_at) VALUES (p_kind, p_name, clock_timestamp())
    RETURNING id INTO v_id;
    RETURN v_id;
END $$;
