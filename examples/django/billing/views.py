"""Another product, which hears of completed work items through a webhook, and writes an invoice for each."""

import json
import uuid

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from .models import Invoice, ReceivedEvent
from .verify import BODY_LIMIT_BYTES, verify


@csrf_exempt
@require_POST
def webhook(request: HttpRequest) -> HttpResponse:
    if int(request.headers.get("Content-Length") or 0) > BODY_LIMIT_BYTES:
        return HttpResponse(status=413)
    if not verify(request.headers.items(), request.body, settings.WEBHOOK_SECRET):
        return HttpResponse(status=401)
    completed = completed_work_item(request.body)
    if completed is not None:
        write_invoice(*completed)
    return HttpResponse(status=204)


def completed_work_item(raw_body: bytes) -> tuple[uuid.UUID, uuid.UUID] | None:
    """The event's id and the work item's. None for all else: other events, and any JSON, since an admin may send it by hand."""
    try:
        event = json.loads(raw_body)
        return (uuid.UUID(event["id"]), uuid.UUID(event["entityId"])) if event["type"] == "WorkItemCompleted" else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def write_invoice(event_id: uuid.UUID, work_item_id: uuid.UUID) -> None:
    """Once for each event: the invoice, and that the event was received, commit together."""
    with transaction.atomic():
        received, is_new = ReceivedEvent.objects.get_or_create(id=event_id)
        if is_new:
            Invoice.objects.create(event=received, work_item_id=work_item_id)


@require_GET
def invoices(request: HttpRequest, id: uuid.UUID) -> JsonResponse:
    found = Invoice.objects.filter(work_item_id=id)
    answer = [{"eventId": each.event_id, "workItemId": each.work_item_id, "writtenAt": each.written_at} for each in found]
    return JsonResponse(answer, safe=False)
