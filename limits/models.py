"""The tables, with constraints that refuse impossible rows and an index for each query.

Only the functions in `sql/` write here. Durations are milliseconds; instants are the database clock's.
"""

from django.db import models
from django.db.models import F, Q
from django.db.models.expressions import Case, Value, When

from limits import rules


class SlotState(models.TextChoices):
    WAITING = "waiting"
    RESERVED = "reserved"
    BUSY = "busy"
    RELEASED = "released"
    EXPIRED = "expired"
    TIMED_OUT = "timed_out"
    WITHDRAWN = "withdrawn"


LIVE = ["waiting", "reserved", "busy"]
_CAPACITY = {"gte": 1, "lte": rules.CAPACITY_MAX}
_MAX_HOLD = {"gte": 1, "lte": rules.MAX_HOLD_MAX}


def _between(field: str, bounds: dict[str, int]) -> Q:
    return Q(**{f"{field}__{lookup}": bound for lookup, bound in bounds.items()})


class Limit(models.Model):
    """A named cap. `capacity` and `max_hold` are the effective values: the override if there is one, else declared."""

    id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=rules.NAME_LENGTH_MAX, db_collation="C")
    declared = models.BooleanField()
    declared_capacity = models.IntegerField()
    declared_max_hold = models.BigIntegerField()
    capacity = models.IntegerField()
    max_hold = models.BigIntegerField()

    paused_at = models.DateTimeField(null=True)
    paused_by = models.TextField(null=True)  # noqa: DJ001  (none and "" differ here)
    paused_reason = models.TextField(null=True)  # noqa: DJ001

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
        constraints = [
            models.UniqueConstraint(name="limit_once", fields=["name"]),
            models.CheckConstraint(
                name="limit_name", condition=Q(name__regex=r"^[a-z0-9._-]{1,64}$")
            ),
            models.CheckConstraint(
                name="limit_capacity",
                condition=_between("capacity", _CAPACITY)
                & _between("declared_capacity", _CAPACITY),
            ),
            models.CheckConstraint(
                name="limit_max_hold",
                condition=_between("max_hold", _MAX_HOLD)
                & _between("declared_max_hold", _MAX_HOLD),
            ),
            models.CheckConstraint(
                name="limit_counts",
                condition=Q(busy__gte=0) & Q(reserved__gte=0) & Q(waiting__gte=0),
            ),
            models.CheckConstraint(
                name="limit_pause",
                condition=Q(paused_at__isnull=False, paused_by__isnull=False)
                | Q(
                    paused_at__isnull=True,
                    paused_by__isnull=True,
                    paused_reason__isnull=True,
                ),
            ),
        ]


class Override(models.Model):
    """A value of a limit set by a person; it wins over the declared one until reset, and outlives deploys."""

    limit = models.ForeignKey(Limit, on_delete=models.PROTECT, db_index=False)
    field = models.CharField(
        max_length=16, choices=[("capacity", "capacity"), ("max_hold", "max_hold")]
    )
    value = models.BigIntegerField()
    set_at = models.DateTimeField()
    set_by = models.TextField()
    source = models.TextField()
    reason = models.TextField(null=True)  # noqa: DJ001

    class Meta:
        db_table = 'limits"."override'
        constraints = [
            models.UniqueConstraint(name="override_once", fields=["limit", "field"]),
            models.CheckConstraint(
                name="override_value",
                condition=(Q(field="capacity") & _between("value", _CAPACITY))
                | (Q(field="max_hold") & _between("value", _MAX_HOLD)),
            ),
        ]


class Worker(models.Model):
    """A process of the box that is alive as long as its database session holds its advisory lock.

    Workers have an identity that outlives them; a plain client's (`kind` "client") is as old as its process.
    `gone_since` goes by the real clock: a session can't be shifted.
    """

    id = models.AutoField(primary_key=True)
    kind = models.CharField(
        max_length=16, choices=[("client", "client"), ("worker", "worker")]
    )
    name = models.TextField()
    joined_at = models.DateTimeField()
    gone_since = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        db_table = 'limits"."worker'
        indexes = [
            # The presence check of each sweep.
            models.Index(
                name="worker_present", fields=["id"], condition=Q(ended_at__isnull=True)
            ),
        ]


class Slot(models.Model):
    """One place under a limit, its whole life in one row, from the request to long after its end."""

    id = models.UUIDField(primary_key=True)
    # Without a database constraint: limits are never deleted, and the check would lock the hot row twice per request.
    limit = models.ForeignKey(
        Limit, on_delete=models.PROTECT, db_constraint=False, db_index=False
    )
    state = models.CharField(max_length=16, choices=SlotState.choices, db_collation="C")
    # Drawn under the limit's lock: the order of the queue, and so of the grants. Drawn anew when a reservation lapses.
    number = models.BigIntegerField()
    # Names the call: one call never holds two slots.
    key = models.CharField(max_length=rules.KEY_LENGTH_MAX, db_collation="C")
    label = models.CharField(
        max_length=rules.LABEL_LENGTH_MAX, null=True, db_collation="C"
    )  # noqa: DJ001
    run_id = models.TextField(null=True, db_collation="C")  # noqa: DJ001
    workflow = models.TextField(null=True)  # noqa: DJ001
    worker = models.ForeignKey(
        Worker, on_delete=models.PROTECT, null=True, db_constraint=False, db_index=False
    )

    asked_at = models.DateTimeField()
    times_out_at = models.DateTimeField()
    granted_at = models.DateTimeField(null=True)
    reserved_until = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    confirmed_at = models.DateTimeField(null=True)
    missed = models.SmallIntegerField(db_default=0)

    ended_at = models.DateTimeField(null=True)
    ended_by = models.TextField(null=True)  # noqa: DJ001
    end_reason = models.TextField(null=True)  # noqa: DJ001
    # The call that released it: its retry after a lost answer gets the same answer.
    release_key = models.TextField(null=True)  # noqa: DJ001

    due_at = models.GeneratedField(
        expression=Case(
            When(state="waiting", then=F("times_out_at")),
            When(state="reserved", then=F("reserved_until")),
            When(state="busy", then=F("expires_at")),
            default=Value(None),
        ),
        output_field=models.DateTimeField(null=True),
        db_persist=True,
    )

    class Meta:
        db_table = 'limits"."slot'
        # A CHECK lets NULL pass: each comparison below stands beside a NOT NULL of its columns.
        constraints = [
            models.UniqueConstraint(
                name="slot_key",  # request, abandon: the call's slot
                fields=["limit", "key"],
                condition=Q(state__in=LIVE),
            ),
            models.UniqueConstraint(
                name="slot_number",  # grant_free: the head of the queue; the pages of a limit
                fields=["limit", "state", "number"],
                condition=Q(state__in=LIVE),
            ),
            models.CheckConstraint(
                name="slot_waiting",
                condition=~Q(state="waiting")
                | Q(
                    granted_at__isnull=True,
                    reserved_until__isnull=True,
                    expires_at__isnull=True,
                    confirmed_at__isnull=True,
                    ended_at__isnull=True,
                ),
            ),
            models.CheckConstraint(
                name="slot_reserved",
                condition=~Q(state="reserved")
                | Q(
                    granted_at__isnull=False,
                    reserved_until__isnull=False,
                    expires_at__isnull=False,
                    reserved_until__lte=F("expires_at"),
                    confirmed_at__isnull=True,
                    ended_at__isnull=True,
                ),
            ),
            models.CheckConstraint(
                name="slot_busy",
                condition=~Q(state="busy")
                | Q(
                    granted_at__isnull=False,
                    confirmed_at__isnull=False,
                    expires_at__isnull=False,
                    reserved_until__isnull=True,
                    expires_at__gt=F("granted_at"),
                    confirmed_at__gte=F("granted_at"),
                    ended_at__isnull=True,
                ),
            ),
            models.CheckConstraint(
                name="slot_held_and_ended",
                condition=~Q(state__in=["released", "expired"])
                | Q(
                    granted_at__isnull=False,
                    confirmed_at__isnull=False,
                    expires_at__isnull=False,
                    expires_at__gt=F("granted_at"),
                    confirmed_at__gte=F("granted_at"),
                    ended_at__isnull=False,
                ),
            ),
            models.CheckConstraint(
                name="slot_never_held",
                condition=~Q(state__in=["timed_out", "withdrawn"])
                | Q(confirmed_at__isnull=True, ended_at__isnull=False),
            ),
            models.CheckConstraint(
                name="slot_state", condition=Q(state__in=SlotState.values)
            ),
            models.CheckConstraint(
                name="slot_release_key",
                condition=Q(release_key__isnull=True) | Q(state="released"),
            ),
        ]
        indexes = [
            # settle: what is due; the busy page by expiry; when a waiting run starts at the latest.
            models.Index(
                name="slot_due",
                fields=["limit", "state", "due_at"],
                condition=Q(state__in=LIVE),
            ),
            # Search by the start of a label or a run's id.
            models.Index(
                name="slot_label",
                fields=["limit", "label"],
                condition=Q(state__in=LIVE, label__isnull=False),
            ),
            models.Index(
                name="slot_run",
                fields=["limit", "run_id"],
                condition=Q(state__in=LIVE, run_id__isnull=False),
            ),
            # sweep: the queue places of a process that is gone.
            models.Index(
                name="slot_worker",
                fields=["worker"],
                condition=Q(state__in=["waiting", "reserved"], worker__isnull=False),
            ),
            # prune, and a limit's past.
            models.Index(
                name="slot_ended",
                fields=["limit", "ended_at"],
                condition=Q(ended_at__isnull=False),
            ),
        ]


class Change(models.Model):
    """What a person, or a deploy, changed. Append-only: a trigger refuses anything else."""

    at = models.DateTimeField()
    limit_name = models.TextField(db_collation="C")
    kind = models.CharField(max_length=16)
    before = models.TextField(null=True)  # noqa: DJ001
    after = models.TextField(null=True)  # noqa: DJ001
    actor = models.TextField()
    source = models.CharField(max_length=16)
    reason = models.TextField(null=True)  # noqa: DJ001
    slot_id = models.UUIDField(null=True)
    label = models.TextField(null=True)  # noqa: DJ001

    class Meta:
        db_table = 'limits"."change'
        indexes = [
            # The latest changes of one limit.
            models.Index(name="change_limit", fields=["limit_name", "-id"]),
        ]


class Box(models.Model):
    """The one row that says whose database this is, and when the sweep last ran."""

    id = models.BooleanField(primary_key=True, default=True)
    workspace = models.TextField(null=True)  # noqa: DJ001
    swept_at = models.DateTimeField(null=True)

    class Meta:
        db_table = 'limits"."box'
        constraints = [models.CheckConstraint(name="box_one_row", condition=Q(id=True))]


class InstalledFunction(models.Model):
    """A file of `sql/` as it was last installed, to reinstall what changed."""

    name = models.CharField(max_length=64, primary_key=True)
    checksum = models.CharField(max_length=64)

    class Meta:
        db_table = 'limits"."installed_function'


class ClockShift(models.Model):
    """How far the one clock is moved, in milliseconds; only a test database accepts the row."""

    id = models.BooleanField(primary_key=True, default=True)
    shift = models.BigIntegerField()

    class Meta:
        db_table = 'limits"."clock_shift'
        constraints = [
            models.CheckConstraint(name="clock_shift_one_row", condition=Q(id=True))
        ]
