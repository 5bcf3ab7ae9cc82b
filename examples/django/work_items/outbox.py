import json
import uuid
from datetime import datetime, timezone

from django.conf import settings
from django.db import connection


def emit(type: str, entity_type: str, entity_id: uuid.UUID, changes: dict) -> None:
    """Writes an event into the outbox, in the transaction of the caller: `herald relay` sends it once that has committed."""
    event = {
        "organizationId": settings.ORGANIZATION_ID,
        "id": str(uuid.uuid4()),
        "type": type,
        "occurredAtUtc": datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "entityType": entity_type,
        "entityId": str(entity_id),
        "data": {"changes": changes},
    }
    with connection.cursor() as cursor:
        cursor.execute("insert into herald_outbox (event) values (%s)", [json.dumps(event)])
