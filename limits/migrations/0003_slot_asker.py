"""Of several that share a key, who asked last."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("limits", "0002_storage")]

    operations = [migrations.AddField("slot", "asker", models.UUIDField(null=True))]
