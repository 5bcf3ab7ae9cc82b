import { randomUUID } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pythonTypes } from "@herald/cli/events/event-types";
import { afterAll, expect, test } from "@jest/globals";
import { BUILD_TIMEOUT_MS, output, withCopy } from "../../../src/child.ts";
import { OWN_CATALOGUE, ownCatalogueFile } from "../../../src/herald/own-catalogue.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

// An adopter's service in Python: the example's emitter, and the types that `herald events types` prints.

const EVENT_TYPES_FILE = ownCatalogueFile();
const environment = useTestEnvironment({ settings: { EVENT_TYPES_FILE } });
afterAll(() => rmSync(dirname(EVENT_TYPES_FILE), { recursive: true }));

const SERVICE = `
import os
from emit import Emitter, new_event
from herald_events import EventType, InvoicePaidData

def pay(entity_id: str, data: InvoicePaidData) -> None:
    paid: EventType = "invoice.paid"
    emitter = Emitter(os.environ["AMQP_URL"])
    emitter.emit(new_event(os.environ["ORGANIZATION_ID"], paid, "Invoice", entity_id, data))
    emitter.close()

pay(os.environ["INVOICE"], {"total": "119.00"})
`;

test(
  "an event of one's own catalogue, emitted from Python, is delivered",
  async () => {
    const { api, broker, receiver } = environment;
    await api.create({ url: receiver.url, events: ["invoice.paid"] });
    const invoice = randomUUID();
    await withCopy("emit-python", async (folder) => {
      writeFileSync(join(folder, "herald_events.py"), pythonTypes(OWN_CATALOGUE, "Made by a test."));
      writeFileSync(join(folder, "service.py"), SERVICE);
      const install = "-m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target library";
      await output("python3", [...install.split(" "), "--requirement", "requirements.txt"], folder);
      await output("python3", ["-B", "service.py"], folder, {
        ...process.env,
        PYTHONPATH: "library",
        AMQP_URL: broker.url,
        BROKER_NAMESPACE: broker.namespace,
        ORGANIZATION_ID: api.organizationId,
        INVOICE: invoice,
      });
    });
    const [request] = await receiver.received(1);
    expect(JSON.parse(request?.body.toString() ?? "null")).toMatchObject({
      type: "invoice.paid",
      entityId: invoice,
      data: { total: "119.00" },
    });
  },
  BUILD_TIMEOUT_MS,
);
