-- A slot's id: a UUID of version 7. 74 random bits make it unguessable (A1); the time in front keeps new rows
-- together in the index. The real clock: a shifted one would only spread them.
CREATE FUNCTION limits.new_id() RETURNS uuid
LANGUAGE sql VOLATILE AS $$
    SELECT encode(
        set_bit(set_bit(
            overlay(
                uuid_send(gen_random_uuid())
                PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
                FROM 1 FOR 6
            ), 52, 1), 53, 1),
        'hex')::uuid
$$;
