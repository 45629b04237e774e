"""The tables, with constraints that refuse impossible rows and an index for each query.

Only the functions in `sql/` write here. Durations are milliseconds; instants are the database clock's.
What a row may look like in which state stands in migration 0002: `limits.slot_is_possible`, behind one CHECK (written
out it would be parsed anew by every statement, which would make the hot path half as fast), and for limits a CHECK
of the counters and a trigger for what changes seldom.
"""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from limits import rules


class SlotState(models.TextChoices):
    WAITING = "waiting"
    RESERVED = "reserved"
    BUSY = "busy"
    RELEASED = "released"
    EXPIRED = "expired"
    TIMED_OUT = "timed_out"
    WITHDRAWN = "withdrawn"


LIVE = Q(ended_at__isnull=True)


class Limit(models.Model):
    """A named cap. `capacity` and `max_hold` are the effective values: the override if there is one, else declared."""

    id = models.AutoField(primary_key=True)
    name = models.TextField(db_collation="C")
    declared = models.BooleanField()
    declared_capacity = models.IntegerField()
    declared_max_hold = models.BigIntegerField()
    capacity = models.IntegerField()
    max_hold = models.BigIntegerField()

    paused_at = models.DateTimeField(null=True)
    paused_by = models.TextField(null=True)
    paused_reason = models.TextField(null=True)

    # A cache of the slot rows, moved under the limit's lock, so that a count costs the same at any size.
    busy = models.IntegerField(db_default=0)
    reserved = models.IntegerField(db_default=0)
    waiting = models.IntegerField(db_default=0)

    # The highest queue number drawn so far.
    last_number = models.BigIntegerField(db_default=0)
    # No waiting slot has a lower number: spares each grant the walk over dead index entries at the queue's head.
    head_number = models.BigIntegerField(db_default=0)
    # Nothing falls due before this instant; none: nothing is ever due.
    next_due_at = models.DateTimeField(null=True)

    revision = models.BigIntegerField(db_default=0)
    changed_at = models.DateTimeField()

    class Meta:
        db_table = 'limits"."limit'
        constraints = [models.UniqueConstraint(name="limit_once", fields=["name"])]


class Override(models.Model):
    """A value of a limit set by a person; it wins over the declared one until reset, and outlives deploys."""

    limit = models.ForeignKey(Limit, on_delete=models.PROTECT, db_index=False)
    field = models.CharField(max_length=16, choices=[("capacity", "capacity"), ("max_hold", "max_hold")])
    value = models.BigIntegerField()
    set_at = models.DateTimeField()
    set_by = models.TextField()
    source = models.TextField()
    reason = models.TextField(null=True)

    class Meta:
        db_table = 'limits"."override'
        constraints = [
            models.UniqueConstraint(name="override_once", fields=["limit", "field"]),
            models.CheckConstraint(
                name="override_value",
                condition=Q(field="capacity", value__gte=1, value__lte=rules.CAPACITY_MAX)
                | Q(field="max_hold", value__gte=1, value__lte=rules.MAX_HOLD_MAX),
            ),
        ]


class Worker(models.Model):
    """A process of the box that is alive as long as its database session holds its advisory lock.

    Workers have an identity that outlives them; a plain client's (`kind` "client") is as old as its process.
    `gone_since` goes by the real clock: a session can't be shifted.
    """

    id = models.AutoField(primary_key=True)
    kind = models.CharField(max_length=16, choices=[("client", "client"), ("worker", "worker")])
    name = models.TextField()
    # Which process has a worker's identity: one that comes back to find another's here has lost it.
    claim = models.UUIDField(null=True)
    joined_at = models.DateTimeField()
    gone_since = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        db_table = 'limits"."worker'
        constraints = [
            models.UniqueConstraint(name="worker_once", fields=["name"], condition=Q(kind="worker")),
        ]
        indexes = [
            # The presence check of each sweep.
            models.Index(name="worker_present", fields=["id"], condition=Q(ended_at__isnull=True)),
        ]


class Runtime(models.Model):
    """A runtime whose runs take slots, and the SQL function that tells whether a run of it is alive."""

    name = models.TextField(primary_key=True)
    # Schema and name; it takes the run's id and returns a boolean.
    alive_function = models.TextField()

    class Meta:
        db_table = 'limits"."runtime'


class EndedRun(models.Model):
    """A run that ended, or was deleted, while it waited: a runtime leaves it here for the sweep."""

    id = models.BigAutoField(primary_key=True)
    run_id = models.TextField()

    class Meta:
        db_table = 'limits"."ended_run'


class KnownWorkflow(models.Model):
    """A workflow that a worker has the code of, and the JSON Schema of its input."""

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    name = models.TextField(db_collation="C")
    input_schema = models.JSONField()
    description = models.TextField()

    class Meta:
        db_table = 'limits"."known_workflow'
        constraints = [models.UniqueConstraint(name="known_workflow_once", fields=["worker", "name"])]


class Slot(models.Model):
    """One place under a limit, its whole life in one row, from the request to long after its end."""

    id = models.UUIDField(primary_key=True)
    # Without a database constraint: limits are never deleted, and the check would lock the hot row twice per request.
    limit = models.ForeignKey(Limit, on_delete=models.PROTECT, db_constraint=False, db_index=False)
    state = models.TextField(choices=SlotState.choices, db_collation="C")
    # Drawn under the limit's lock: the order of the queue, and so of the grants. Drawn anew when a reservation lapses.
    number = models.BigIntegerField()
    # Names the call: one call never holds two slots.
    key = models.TextField(db_collation="C")
    label = models.CharField(max_length=rules.LABEL_LENGTH_MAX, null=True, db_collation="C")
    run_id = models.TextField(null=True, db_collation="C")
    workflow = models.TextField(null=True)
    # Whose run it is; none for a plain client, and for a run nobody can tell the end of.
    runtime = models.TextField(null=True)
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, null=True, db_constraint=False, db_index=False)
    # Of all that share the key the one who asked last: who leaves takes nobody else's slot along.
    asker = models.UUIDField(null=True)

    asked_at = models.DateTimeField()
    times_out_at = models.DateTimeField()
    granted_at = models.DateTimeField(null=True)
    reserved_until = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    confirmed_at = models.DateTimeField(null=True)
    missed = models.SmallIntegerField(db_default=0)

    ended_at = models.DateTimeField(null=True)
    ended_by = models.TextField(null=True)
    end_reason = models.TextField(null=True)
    # The call that released it: its retry after a lost answer gets the same answer.
    release_key = models.TextField(null=True)

    # When something has to happen to it: the timeout, the end of the reservation, max hold. No meaning once ended.
    due_at = models.GeneratedField(
        expression=Coalesce(F("reserved_until"), F("expires_at"), F("times_out_at")),
        output_field=models.DateTimeField(),
        db_persist=True,
    )

    class Meta:
        db_table = 'limits"."slot'
        constraints = [
            models.UniqueConstraint(
                name="slot_key",  # request, abandon: the call's slot
                fields=["limit", "key"],
                condition=LIVE,
            ),
            models.UniqueConstraint(
                name="slot_number",  # grant_free: the head of the queue; the pages of a limit
                fields=["limit", "state", "number"],
                condition=LIVE,
            ),
        ]
        indexes = [
            # settle: what is due; the busy page by expiry; when a waiting run starts at the latest.
            models.Index(name="slot_due", fields=["limit", "state", "due_at"], condition=LIVE),
            # Search by the start of a label or a run's id. The operators of these classes stand in no other index, so
            # that no plan takes another one.
            models.Index(
                name="slot_label",
                fields=["limit", "state", "label"],
                opclasses=["int4_ops", "text_ops", "text_pattern_ops"],
                condition=LIVE & Q(label__isnull=False),
            ),
            models.Index(
                name="slot_run",
                fields=["limit", "state", "run_id"],
                opclasses=["int4_ops", "text_ops", "text_pattern_ops"],
                condition=LIVE & Q(run_id__isnull=False),
            ),
            # The slots of a run, live and ended; request: what became of the call's last slot.
            models.Index(name="slot_of_run", fields=["run_id", "key"], condition=Q(run_id__isnull=False)),
            # sweep: the queue places of a process that is gone.
            models.Index(
                name="slot_worker",
                fields=["worker"],
                condition=LIVE & Q(confirmed_at__isnull=True, worker__isnull=False),
            ),
            # prune, and a limit's past.
            models.Index(name="slot_ended", fields=["limit", "ended_at"], condition=Q(ended_at__isnull=False)),
        ]


class Change(models.Model):
    """What a person, or a deploy, changed. Append-only: a trigger refuses anything else."""

    at = models.DateTimeField()
    limit_name = models.TextField(db_collation="C")
    kind = models.TextField()
    before = models.TextField(null=True)
    after = models.TextField(null=True)
    actor = models.TextField()
    source = models.TextField()
    reason = models.TextField(null=True)
    slot_id = models.UUIDField(null=True)
    label = models.TextField(null=True)

    class Meta:
        db_table = 'limits"."change'
        indexes = [
            # The latest changes of one limit.
            models.Index(name="change_limit", fields=["limit_name", "-id"]),
            # minutes, capacity_changes, and the marks of a limit's history.
            models.Index(name="change_kind", fields=["limit_name", "kind", "at"]),
        ]


class History(models.Model):
    """How a limit stood in a minute, or a quarter of an hour, in which anything moved; written by the sweep.

    `busy`, `reserved` and `capacity` are those of the moment at which most slots were held, `waiting` is the highest,
    `last_…` tells how it ended, which holds until the next row.
    """

    limit = models.ForeignKey(Limit, on_delete=models.PROTECT, db_constraint=False, db_index=False)
    # Seconds: 60 or 900.
    step = models.SmallIntegerField()
    at = models.DateTimeField()
    busy = models.IntegerField()
    reserved = models.IntegerField()
    capacity = models.IntegerField()
    waiting = models.IntegerField()
    # Taken back at max hold, and released by a person.
    expired = models.IntegerField()
    by_hand = models.IntegerField()
    # Of the waits that ended, in milliseconds.
    longest_wait = models.BigIntegerField(null=True)
    last_busy = models.IntegerField()
    last_reserved = models.IntegerField()
    last_waiting = models.IntegerField()
    last_capacity = models.IntegerField()

    pk = models.CompositePrimaryKey("limit_id", "step", "at")

    class Meta:
        db_table = 'limits"."history'


class HistoryMark(models.Model):
    """How far the history of a limit reaches, and where it begins: `roll_up` goes on from there."""

    limit = models.OneToOneField(Limit, on_delete=models.PROTECT, primary_key=True, db_constraint=False)
    since = models.DateTimeField()
    until = models.DateTimeField()

    class Meta:
        db_table = 'limits"."history_mark'


class Box(models.Model):
    """The one row that says whose database this is, and when the sweep last ran."""

    id = models.BooleanField(primary_key=True, default=True)
    workspace = models.TextField(null=True)
    swept_at = models.DateTimeField(null=True)

    class Meta:
        db_table = 'limits"."box'
        constraints = [models.CheckConstraint(name="box_one_row", condition=Q(id=True))]


class InstalledFunction(models.Model):
    """A file of `sql/` as it was last installed, to reinstall what changed."""

    name = models.TextField(primary_key=True)
    checksum = models.TextField()

    class Meta:
        db_table = 'limits"."installed_function'


class ClockShift(models.Model):
    """How far the one clock is moved, in milliseconds; only a test database accepts the row."""

    id = models.BooleanField(primary_key=True, default=True)
    shift = models.BigIntegerField()

    class Meta:
        db_table = 'limits"."clock_shift'
        constraints = [models.CheckConstraint(name="clock_shift_one_row", condition=Q(id=True))]
