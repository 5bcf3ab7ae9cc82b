"""Emits WorkItemCompleted for each work item whose id, a UUID, is a line of the standard input."""

import hashlib
import json
import os
import re
import sys
import time
import uuid
from datetime import datetime, timezone

import pika
from pika.adapters.utils.connection_workflow import AMQPConnectorException
from pika.exceptions import AMQPError, NackError, UnroutableError

EXCHANGE = os.environ.get("BROKER_NAMESPACE", "herald") + ".events"
TIMEOUT_SECONDS = float(os.environ.get("TIMEOUT_SECONDS", "30"))
PAUSE_SECONDS = 0.5
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class NotEmitted(Exception):
    """Emitting the same event again, with its id and time, is safe."""


def new_event(organization_id, type, entity_type, entity_id, data):
    """Make an event once, and keep it over retries: its organization, id and time say which event it is."""
    return {
        "organizationId": organization_id,
        "id": str(uuid.uuid4()),
        "type": type,
        "occurredAtUtc": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        "entityType": entity_type,
        "entityId": entity_id,
        "data": data,
    }


def routing_key(event):
    """The first digit chooses one of sixteen queues, so that an organization's flood does not hold up the others."""
    digits = hashlib.sha256(event["organizationId"].encode()).hexdigest()
    # Dots divide a routing key, so those of a type become hyphens.
    return f"{event['type'].replace('.', '-')}.{digits[0]}.{digits[1]}"


class Emitter:
    def __init__(self, url):
        self.parameters = pika.URLParameters(url)
        # pika has no other limit for the wait for a confirm: a silent broker is noticed by its missing heartbeats.
        self.parameters.heartbeat = 10
        self.connection = None
        self.channel = None

    def emit(self, event, traceparent=None):
        """Returns when the broker has stored the event. Raises NotEmitted otherwise."""
        if not UUID.fullmatch(event["entityId"]):
            raise NotEmitted("its entity id is no UUID, so Herald would reject it")
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            try:
                return self.publish(event, traceparent)
            except UnroutableError as error:
                raise NotEmitted("no queue takes it: start Herald's publisher, and compare BROKER_NAMESPACE") from error
            except NackError as error:
                raise NotEmitted("the broker refused it: too many events wait, try again later") from error
            except (AMQPError, AMQPConnectorException, OSError) as error:
                # The broker may have it or not. Sent again, it is the same event, and Herald delivers it once.
                self.close()
                if time.monotonic() >= deadline:
                    raise NotEmitted(f"the broker did not confirm it in time: {error!r}") from error
                time.sleep(PAUSE_SECONDS)

    def publish(self, event, traceparent):
        if self.channel is None:
            self.connection = pika.BlockingConnection(self.parameters)
            self.channel = self.connection.channel()
            self.channel.confirm_delivery()
        # Nothing is declared: an emitter may write to the exchange, which Herald makes, and nothing else.
        self.channel.basic_publish(
            EXCHANGE,
            routing_key(event),
            json.dumps(event).encode(),
            pika.BasicProperties(
                content_type="application/json",
                delivery_mode=2,  # persistent
                message_id=event["id"],
                type=event["type"],
                headers={"traceparent": traceparent} if traceparent else None,
            ),
            mandatory=True,
        )

    def close(self):
        connection, self.connection, self.channel = self.connection, None, None
        try:
            if connection and connection.is_open:
                connection.close()
        except (AMQPError, OSError):
            pass  # It was lost.


def main():
    organization_id = os.environ["ORGANIZATION_ID"]
    emitter = Emitter(os.environ.get("AMQP_URL", "amqp://localhost"))
    lost = False
    for line in sys.stdin:
        changes = {"Status": {"oldValue": "InProgress", "newValue": "Done"}}
        event = new_event(organization_id, "WorkItemCompleted", "WorkItem", line.strip(), {"changes": changes})
        try:
            emitter.emit(event, os.environ.get("TRACEPARENT"))
            print("emitted", event["id"], flush=True)
        except NotEmitted as error:
            lost = True
            print(f"not emitted {event['id']}: {error}", flush=True)
    emitter.close()
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
