import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Sender } from "@herald/common/broker/broker";
import { names as namesOf } from "@herald/common/broker/topology";
import type { LocalOwners } from "@herald/common/service/open-process";
import { Registry } from "@herald/common/telemetry/metrics";
import type { HandOver } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { handOver } from "./hand-over.ts";
import { createMetrics } from "./metrics.ts";
import type { ForOwners, IncomingEvent, NewDelivery } from "./sql/rows.ts";

type SentMessage = Parameters<Sender["send"]>[0];

const RECEIVED_AT = new Date("2026-03-01T12:00:00.000Z");
const READ_AT = new Date("2026-03-01T11:59:59.900Z");
const names = namesOf("herald");

const eventWith = (body: string): IncomingEvent => ({
  organizationId: "organization-1",
  key: randomUUID(),
  id: randomUUID(),
  type: "RiskCreated",
  entityId: randomUUID(),
  occurredAt: RECEIVED_AT,
  receivedAt: RECEIVED_AT,
  body,
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
});
const deliveryOf = (event: IncomingEvent, owner: string | null): NewDelivery => ({
  id: randomUUID(),
  endpointId: randomUUID(),
  revision: "7",
  readAt: READ_AT,
  event,
  owner,
});
const workOf = (owner: string | null) => ({ endpointId: randomUUID(), organizationId: "organization-2", owner });

/** Hands over, if `isBlocked` to a broker that takes no messages; the `local` dispatchers are of this process. */
async function handedOver(
  made: Omit<ForOwners, "stored">,
  { local = [], isBlocked = false }: { local?: string[]; isBlocked?: boolean } = {},
) {
  const sent: SentMessage[] = [];
  const called: { owner: string; message: HandOver }[] = [];
  const registry = new Registry();
  const sender = {
    send: (message: SentMessage) => !isBlocked && sent.push(message) > 0,
    close: async () => {},
  };
  const localOwners: LocalOwners = new Map(
    local.map((owner) => [owner, (message) => void called.push({ owner, message })]),
  );
  handOver({ localOwners, sender, names, metrics: createMetrics(registry) }, { stored: true, ...made });
  await nextTurn();
  const { values } = (await registry.getSingleMetric("herald_handed_over_total")?.get()) ?? { values: [] };
  return {
    sent: sent.map(({ content, ...message }) => ({ ...message, message: JSON.parse(String(content)) as HandOver })),
    called,
    counted: Object.fromEntries(values.map(({ labels, value }) => [labels.result, value])),
  };
}

test("each owner gets one message, with the body of an event once, however many deliveries the event has", async () => {
  const event = eventWith('{"a":"ä"}');
  const other = eventWith("{}");
  const deliveries = [
    deliveryOf(event, "owner-1"),
    deliveryOf(event, "owner-2"),
    deliveryOf(other, "owner-1"),
    deliveryOf(event, "owner-1"),
  ] as const;
  const work = workOf("owner-2");
  const { sent, counted } = await handedOver({ deliveries, work: [work] });
  const written = ({ body, traceparent, key }: IncomingEvent) => ({
    eventType: "RiskCreated",
    body,
    traceparent,
    key,
    receivedAtUtc: RECEIVED_AT.toISOString(),
  });
  const handed = ({ id: deliveryId, endpointId }: NewDelivery, event: number) => ({
    deliveryId,
    endpointId,
    organizationId: "organization-1",
    revision: "7",
    readAtUtc: READ_AT.toISOString(),
    event,
  });
  expect(sent).toEqual([
    {
      exchange: "herald.dispatch",
      routingKey: "owner-1",
      message: {
        stored: true,
        events: [written(event), written(other)],
        deliveries: [handed(deliveries[0], 0), handed(deliveries[2], 1), handed(deliveries[3], 0)],
        work: [],
      },
    },
    {
      exchange: "herald.dispatch",
      routingKey: "owner-2",
      message: {
        stored: true,
        events: [written(event)],
        deliveries: [handed(deliveries[1], 0)],
        work: [{ endpointId: work.endpointId, organizationId: work.organizationId }],
      },
    },
  ]);
  expect(counted).toEqual({ sent: 5, dropped: 0 });
});

test("a large body is not handed over: its endpoint is named, once", async () => {
  // Characters of two bytes: the bytes count.
  const small = eventWith("ä".repeat(4 * 1024));
  const large = eventWith(`${small.body}.`);
  const first = deliveryOf(large, "owner-1");
  const again = { ...deliveryOf(eventWith(large.body), "owner-1"), endpointId: first.endpointId };
  const { sent } = await handedOver({ deliveries: [first, deliveryOf(small, "owner-1"), again], work: [] });
  expect(sent).toMatchObject([
    {
      message: {
        events: [{ body: small.body }],
        deliveries: [{ event: 0 }],
        work: [{ endpointId: first.endpointId, organizationId: "organization-1" }],
      },
    },
  ]);
  expect(sent[0]?.message.work).toHaveLength(1);
});

test("of deliveries that were handed over when their events arrived, their owner gets the ids alone", async () => {
  const arrived = () => ({ ...eventWith("{}"), handedOver: true });
  const first = deliveryOf(arrived(), "owner-1");
  const second = { ...deliveryOf(arrived(), "owner-1"), endpointId: first.endpointId };
  const other = deliveryOf(arrived(), "owner-1");
  const whole = deliveryOf(eventWith("{}"), "owner-1");
  const work = workOf("owner-1");
  const { sent, counted } = await handedOver({ deliveries: [first, whole, other, second], work: [work] });
  const organizationId = "organization-1";
  expect(sent.map(({ message }) => message)).toMatchObject([
    {
      deliveries: [{ deliveryId: whole.id }],
      work: [
        { endpointId: first.endpointId, organizationId, arrived: [first.id, second.id] },
        { endpointId: other.endpointId, organizationId, arrived: [other.id] },
        { endpointId: work.endpointId, organizationId: "organization-2" },
      ],
    },
  ]);
  // The ids hand nothing over.
  expect(counted).toEqual({ sent: 2, dropped: 0 });
});

test("bodies that are more than 256 KiB together go in several messages, each with the events of its own deliveries", async () => {
  const events = Array.from({ length: 33 }, (_, index) => eventWith(String(index).padEnd(8 * 1024)));
  const deliveries = [...events.map((event) => deliveryOf(event, "owner-1")), deliveryOf(eventWith("{}"), "owner-2")];
  const { sent } = await handedOver({ deliveries, work: [] });
  expect(sent.map(({ routingKey, message }) => [routingKey, message.events.length])).toEqual([
    ["owner-1", 32],
    ["owner-1", 1],
    ["owner-2", 1],
  ]);
  const bodies = sent.flatMap(({ message }) => message.deliveries.map(({ event }) => message.events[event]?.body));
  expect(bodies).toEqual(deliveries.map(({ event }) => event.body));
});

test("deliveries without an owner are not sent: the next owner of the shard reads PostgreSQL", async () => {
  const { sent, counted } = await handedOver({ deliveries: [deliveryOf(eventWith("{}"), null)], work: [workOf(null)] });
  expect(sent).toEqual([]);
  expect(counted).toEqual({ sent: 0, dropped: 2 });
});

test("a dispatcher of this process is called, and others get messages", async () => {
  const deliveries = [deliveryOf(eventWith("{}"), "here"), deliveryOf(eventWith("{}"), "elsewhere")] as const;
  const { sent, called, counted } = await handedOver({ deliveries, work: [] }, { local: ["here"] });
  expect(called).toMatchObject([{ owner: "here", message: { deliveries: [{ deliveryId: deliveries[0].id }] } }]);
  expect(sent).toMatchObject([
    { routingKey: "elsewhere", message: { deliveries: [{ deliveryId: deliveries[1].id }] } },
  ]);
  expect(counted).toEqual({ sent: 2, dropped: 0 });
});

test("messages that the broker does not take at once are dropped, and counted", async () => {
  const { counted } = await handedOver({ deliveries: [], work: [workOf("owner-1")] }, { isBlocked: true });
  expect(counted).toEqual({ sent: 0, dropped: 1 });
});
