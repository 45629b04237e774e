"""Search by the start of a label or a run's id: indexes that know the state, and that no other search is served by."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('limits', '0004_runs'),
    ]

    operations = [
        # By hand: Django drops an index without naming its schema, and so finds none.
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL('DROP INDEX limits.slot_label, limits.slot_run')],
            state_operations=[
                migrations.RemoveIndex(model_name='slot', name='slot_label'),
                migrations.RemoveIndex(model_name='slot', name='slot_run'),
            ],
        ),
        migrations.AddIndex(
            model_name='slot',
            index=models.Index(condition=models.Q(('ended_at__isnull', True), ('label__isnull', False)), fields=['limit', 'state', 'label'], name='slot_label', opclasses=['int4_ops', 'text_ops', 'text_pattern_ops']),
        ),
        migrations.AddIndex(
            model_name='slot',
            index=models.Index(condition=models.Q(('ended_at__isnull', True), ('run_id__isnull', False)), fields=['limit', 'state', 'run_id'], name='slot_run', opclasses=['int4_ops', 'text_ops', 'text_pattern_ops']),
        ),
    ]
