import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    initial = True

    operations = [
        migrations.CreateModel(
            name="ReceivedEvent",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("received_at", models.DateTimeField(db_default=Now())),
            ],
        ),
        migrations.CreateModel(
            name="Invoice",
            fields=[
                (
                    "event",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        serialize=False,
                        to="billing.receivedevent",
                    ),
                ),
                ("work_item_id", models.UUIDField()),
                ("written_at", models.DateTimeField(db_default=Now())),
            ],
        ),
    ]
