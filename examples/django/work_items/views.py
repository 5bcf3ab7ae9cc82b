import json

from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from .models import WorkItem
from .outbox import emit


@csrf_exempt
@require_POST
def create(request: HttpRequest) -> JsonResponse:
    try:
        title = json.loads(request.body)["title"]
    except (ValueError, TypeError, KeyError):
        return JsonResponse({"error": "A work item has a title."}, status=400)
    work_item = WorkItem.objects.create(title=str(title))
    return JsonResponse({"id": work_item.id, "title": work_item.title, "status": work_item.status}, status=201)


@csrf_exempt
@require_POST
def complete(request: HttpRequest, id) -> JsonResponse:
    """Changes the status and writes the event down, both or neither."""
    with transaction.atomic():
        # Of two requests at once, the second waits here, and finds that it is done.
        work_item = WorkItem.objects.select_for_update().filter(id=id).first()
        if work_item is None:
            return JsonResponse({"error": "There is no such work item."}, status=404)
        before, after = work_item.status, "Done"
        if before == after:
            return JsonResponse({"error": "It is done already."}, status=409)
        work_item.status = after
        work_item.save()
        emit("WorkItemCompleted", "WorkItem", work_item.id, {"Status": {"oldValue": before, "newValue": after}})
    return JsonResponse({"status": after})
