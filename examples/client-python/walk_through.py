import os
import uuid

from herald_client import AuthenticatedClient
from herald_client.api.deliveries import deliver_manually, list_deliveries
from herald_client.api.endpoints import (
    create_webhook,
    delete_webhook,
    edit_webhook,
    list_changes,
    list_webhooks,
    read_webhook,
)
from herald_client.api.events import find_events
from herald_client.models import (
    CreateWebhookRequest,
    DeleteWebhookRequest,
    DeliverRequest,
    EditWebhookRequest,
    Problem,
)

RECEIVER_URL = os.environ.get("RECEIVER_URL", "https://hooks.example.com/herald")

herald = AuthenticatedClient(
    base_url=os.environ["HERALD"] + "/api/organization/integration-operations",
    token=os.environ["TOKEN"],
)


def body_of(answer):
    """What an answer holds. Raises where it is a problem."""
    if isinstance(answer, Problem):
        raise RuntimeError(f"{answer.code}: {answer.detail} (request {answer.request_id})")
    return answer


# Create: the answer is the only one that holds the signing secret.
created = body_of(
    create_webhook.sync(
        client=herald,
        body=CreateWebhookRequest(
            name="Billing", url=RECEIVER_URL, enabled=True, events=["WorkItemCompleted"]
        ),
    )
)
endpoint = created.endpoint
print(f"created {endpoint.name} with a secret of {len(created.signing_secret)} characters")

# Read, and list.
details = body_of(read_webhook.sync(endpoint.id, client=herald))
print(f"read {details.name}, {details.disabled_reason or 'enabled'}, {details.unfinished.waiting} waiting")
endpoints = body_of(list_webhooks.sync(client=herald))
print("listed", ", ".join(each.name for each in endpoints))


# Edit: all settings, and the version that was read last. An older one is refused.
def edit(version: str, rotate_secret: bool = False):
    body = EditWebhookRequest(
        name="Billing 2",
        url=RECEIVER_URL,
        enabled=True,
        events=endpoint.events,
        rotate_secret=rotate_secret,
        version=version,
    )
    return edit_webhook.sync(endpoint.id, client=herald, body=body)


edited = body_of(edit(endpoint.version))
print("edited", edited.endpoint.name)
stale = edit(endpoint.version)
if not isinstance(stale, Problem) or stale.code != "version_conflict":
    raise RuntimeError("An edit of an old version went through.")
print(f"refused {stale.status} {stale.code}: {stale.detail}")

# Deliver by hand. With a key, the request can be repeated until there is an answer.
delivery = body_of(
    deliver_manually.sync(
        endpoint.id,
        client=herald,
        body=DeliverRequest(event_type="WorkItemCompleted", payload_json='{"ping": true}'),
        idempotency_key=str(uuid.uuid4()),
    )
)
print(f"delivered {delivery.succeeded}, status {delivery.status_code}, attempts {delivery.attempt_count}")

# The history, by filters.
page = body_of(
    list_deliveries.sync(
        endpoint.id,
        client=herald,
        outcome=["succeeded"],
        event_type=["WorkItemCompleted"],
        limit=10,
    )
)
for each in page.deliveries:
    print(f"history {each.outcome}, failure {each.failure_kind}")

# What became of the events about an entity, at every endpoint.
if "ENTITY_ID" in os.environ:
    found = body_of(find_events.sync(client=herald, entity_id=uuid.UUID(os.environ["ENTITY_ID"])))
    for event in found.events:
        at = event.endpoints[0]
        print(f"event {event.type_} at {at.endpoint_name}: {at.delivery.outcome if at.delivery else at.reason}")

# A new secret, from this answer on; and who changed what.
rotated = body_of(edit(edited.endpoint.version, rotate_secret=True))
print("rotated", rotated.signing_secret not in (None, created.signing_secret))
for change in body_of(list_changes.sync(endpoint.id, client=herald)).changes:
    before = change.before.name if change.before else "-"
    after = change.after.name if change.after else "-"
    print(f"change {change.kind} by {change.changed_by}: {before or '-'} to {after or '-'}")

# Delete.
body_of(
    delete_webhook.sync(
        endpoint.id, client=herald, body=DeleteWebhookRequest(version=rotated.endpoint.version)
    )
)
gone = read_webhook.sync_detailed(endpoint.id, client=herald)
print("deleted", gone.status_code.value)
