from pathlib import Path

from django.db import migrations

OUTBOX = Path(__file__).with_name("outbox.sql").read_text()


class Migration(migrations.Migration):
    dependencies = [("work_items", "0001_initial")]

    operations = [migrations.RunSQL(OUTBOX, reverse_sql="drop table herald_outbox")]
