"""Runs: whose run a slot is, what runtimes report, identities of workers and the workflows they know."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('limits', '0003_slot_asker'),
    ]

    operations = [
        migrations.CreateModel(
            name='EndedRun',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('run_id', models.TextField()),
            ],
            options={
                'db_table': 'limits"."ended_run',
            },
        ),
        migrations.CreateModel(
            name='KnownWorkflow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField(db_collation='C')),
                ('input_schema', models.JSONField()),
                ('description', models.TextField()),
            ],
            options={
                'db_table': 'limits"."known_workflow',
            },
        ),
        migrations.CreateModel(
            name='Runtime',
            fields=[
                ('name', models.TextField(primary_key=True, serialize=False)),
                ('alive_function', models.TextField()),
            ],
            options={
                'db_table': 'limits"."runtime',
            },
        ),
        migrations.AddField(
            model_name='slot',
            name='runtime',
            field=models.TextField(null=True),
        ),
        migrations.AddField(
            model_name='worker',
            name='claim',
            field=models.UUIDField(null=True),
        ),
        migrations.AddIndex(
            model_name='slot',
            index=models.Index(condition=models.Q(('run_id__isnull', False)), fields=['run_id', 'key'], name='slot_of_run'),
        ),
        migrations.AddConstraint(
            model_name='worker',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'worker')), fields=('name',), name='worker_once'),
        ),
        migrations.AddField(
            model_name='knownworkflow',
            name='worker',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='limits.worker'),
        ),
        migrations.AddConstraint(
            model_name='knownworkflow',
            constraint=models.UniqueConstraint(fields=('worker', 'name'), name='known_workflow_once'),
        ),
    ]
