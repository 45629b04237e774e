"""The history of each limit, rolled up by the sweep, and an index to find its marks."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('limits', '0005_search'),
    ]

    operations = [
        migrations.CreateModel(
            name='History',
            fields=[
                ('pk', models.CompositePrimaryKey('limit_id', 'step', 'at', blank=True, editable=False, primary_key=True, serialize=False)),
                ('step', models.SmallIntegerField()),
                ('at', models.DateTimeField()),
                ('busy', models.IntegerField()),
                ('reserved', models.IntegerField()),
                ('capacity', models.IntegerField()),
                ('waiting', models.IntegerField()),
                ('expired', models.IntegerField()),
                ('by_hand', models.IntegerField()),
                ('longest_wait', models.BigIntegerField(null=True)),
                ('last_busy', models.IntegerField()),
                ('last_reserved', models.IntegerField()),
                ('last_waiting', models.IntegerField()),
                ('last_capacity', models.IntegerField()),
                ('limit', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, to='limits.limit')),
            ],
            options={
                'db_table': 'limits"."history',
            },
        ),
        migrations.CreateModel(
            name='HistoryMark',
            fields=[
                ('limit', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, primary_key=True, serialize=False, to='limits.limit')),
                ('since', models.DateTimeField()),
                ('until', models.DateTimeField()),
            ],
            options={
                'db_table': 'limits"."history_mark',
            },
        ),
        migrations.AddIndex(
            model_name='change',
            index=models.Index(fields=['limit_name', 'kind', 'at'], name='change_kind'),
        ),
    ]
