-- Settles one slot that is due: a busy one passed its max hold (F3), a waiting one its timeout (Q4), a reserved
-- one its 2 minutes: that run moves to the end of the queue, its deadline as it was (Q6).
CREATE FUNCTION limits.settle_slot(INOUT l limits.limit, p_slot limits.slot, p_now timestamptz)
LANGUAGE plpgsql AS $$
BEGIN
    IF p_slot.state = 'busy' THEN
        UPDATE limits.slot
        SET state = 'expired', ended_at = p_now, ended_by = 'system'
        WHERE id = p_slot.id;
        l.busy := l.busy - 1;
    ELSIF p_slot.times_out_at <= p_now THEN
        UPDATE limits.slot
        SET state = 'timed_out', granted_at = NULL, reserved_until = NULL, expires_at = NULL,
            missed = least(missed + (state = 'reserved')::integer, 32767), ended_at = p_now, ended_by = 'system'
        WHERE id = p_slot.id;
        IF p_slot.state = 'waiting' THEN
            l.waiting := l.waiting - 1;
        ELSE
            l.reserved := l.reserved - 1;
        END IF;
        PERFORM pg_notify('limits_wake', p_slot.id::text);
    ELSE
        l.last_number := l.last_number + 1;
        UPDATE limits.slot
        SET state = 'waiting', number = l.last_number, granted_at = NULL, reserved_until = NULL,
            expires_at = NULL, missed = least(missed + 1, 32767)
        WHERE id = p_slot.id;
        l.reserved := l.reserved - 1;
        l.waiting := l.waiting + 1;
    END IF;
END $$;
