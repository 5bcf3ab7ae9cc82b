import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { CloudEvent, HTTP } from "cloudevents";
import { BUILD_TIMEOUT_MS, output } from "../../../src/child.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

// Events as the SDKs of CloudEvents make them, in both modes.

const environment = useTestEnvironment();

/** Two work items of now, whose UUIDs are the arguments: the first in binary mode, the second in structured mode. */
const PYTHON = `
import os, sys, uuid
from datetime import datetime
import pika
from cloudevents.core.bindings import amqp
from cloudevents.core.v1.event import CloudEvent

connection = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"]))
channel = connection.channel()
channel.confirm_delivery()
for work_item, make in zip(sys.argv[1:], [amqp.to_binary_event, amqp.to_structured_event]):
    event = CloudEvent(
        attributes={
            "specversion": "1.0",
            "id": str(uuid.uuid4()),
            "source": "/work",
            "type": "WorkItemCompleted",
            "time": datetime.fromisoformat(os.environ["NOW"]),
            "subject": "WorkItem/" + work_item,
            "datacontenttype": "application/json",
            "organizationid": os.environ["ORGANIZATION_ID"],
        },
        data={"hours": 1.5},
    )
    message = make(event)
    properties = pika.BasicProperties(
        content_type=message.properties["content-type"], headers=message.application_properties, delivery_mode=2
    )
    channel.basic_publish(os.environ["EXCHANGE"], "WorkItemCompleted", message.application_data, properties, mandatory=True)
connection.close()
`;

/** Two events that the SDK for Node makes. It has no binding for AMQP: its headers for HTTP get AMQP's prefix. */
async function emitFromNode(entityIds: string[], exchange: string): Promise<void> {
  const connection = await connect(environment.broker.url);
  const channel = await connection.createConfirmChannel();
  for (const [index, entityId] of entityIds.entries()) {
    const event = new CloudEvent({
      id: randomUUID(),
      source: "/work",
      type: "WorkItemCompleted",
      time: environment.clock.now().toISOString(),
      subject: `WorkItem/${entityId}`,
      datacontenttype: "application/json",
      organizationid: environment.api.organizationId,
      data: { hours: 1.5 },
    });
    const { headers, body } = index === 0 ? HTTP.binary(event) : HTTP.structured(event);
    const named = Object.entries(headers).filter(([name]) => name.startsWith("ce-"));
    channel.publish(exchange, "WorkItemCompleted", Buffer.from(String(body)), {
      persistent: true,
      mandatory: true,
      contentType: String(headers["content-type"]),
      headers:
        index === 0 ? Object.fromEntries(named.map(([name, value]) => [`cloudEvents:${name.slice(3)}`, value])) : {},
    });
  }
  await channel.waitForConfirms();
  await connection.close();
}

async function emitFromPython(entityIds: string[], exchange: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "herald-cloud-events-"));
  try {
    const install = "-m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target library";
    await output("python3", [...install.split(" "), "cloudevents==2.2.0", "pika==1.3.2"], folder);
    await output("python3", ["-B", "-c", PYTHON, ...entityIds], folder, {
      ...process.env,
      PYTHONPATH: "library",
      AMQP_URL: environment.broker.url,
      EXCHANGE: exchange,
      ORGANIZATION_ID: environment.api.organizationId,
      NOW: environment.clock.now().toISOString(),
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test.each([
  ["Node", emitFromNode],
  ["Python", emitFromPython],
])(
  "what the SDK of CloudEvents for %s makes, in binary and in structured mode, is delivered",
  async (_name, emit) => {
    const { api, broker, clock, receiver } = environment;
    await api.create({ url: receiver.url, events: ["WorkItemCompleted"] });
    const entityIds = [randomUUID(), randomUUID()];
    await emit(entityIds, `${broker.namespace}.events`);
    const bodies = (await receiver.received(2)).map(({ body }) => JSON.parse(body.toString()));
    expect(bodies.map(({ entityId }) => entityId).sort()).toEqual(entityIds.sort());
    for (const body of bodies) {
      expect(body).toMatchObject({ type: "WorkItemCompleted", entityType: "WorkItem", data: { hours: 1.5 } });
      expect(new Date(body.occurredAtUtc)).toEqual(clock.now());
    }
  },
  BUILD_TIMEOUT_MS,
);
