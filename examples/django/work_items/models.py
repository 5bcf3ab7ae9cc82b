import uuid

from django.db import models


class WorkItem(models.Model):
    """What the product is about."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    title = models.TextField()
    status = models.TextField(default="InProgress")
