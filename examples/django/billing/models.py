from django.db import models
from django.db.models.functions import Now


class ReceivedEvent(models.Model):
    """An event that was accepted. Its id is the one in the signed body, which is the same however often the event comes."""

    id = models.UUIDField(primary_key=True)
    received_at = models.DateTimeField(db_default=Now())


class Invoice(models.Model):
    """What billing makes of a completed work item."""

    event = models.OneToOneField(ReceivedEvent, on_delete=models.PROTECT, primary_key=True)
    work_item_id = models.UUIDField()
    written_at = models.DateTimeField(db_default=Now())
