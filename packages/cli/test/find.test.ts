import { randomUUID } from "node:crypto";
import { storeHistory } from "@herald/dev/harness/history";
import { expectWalks } from "@herald/dev/harness/plans";
import { insertDelivery, insertEndpoint, insertEvent } from "@herald/dev/harness/rows";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import { deletedEndpoints, storedEndpoints } from "../src/endpoints/stored-endpoints.ts";
import { organizationsWith } from "../src/find/find-command.ts";
import { callHerald, objectsIn, runHerald } from "./run-herald.ts";

// One statement stores the history, which takes long on a busy machine.
const db = useDatabase({ statementTimeoutMs: 170_000 });
const DAY_MS = 24 * 60 * 60_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

beforeEach(
  () => db.database.prisma.$executeRaw`truncate webhook_endpoint, business_event, delivery, due, undelivered_event`,
);

const endpoint = (organizationId: string, name: string, row: object = {}) =>
  insertEndpoint(db.database.prisma, { organizationId, name, createdAt: daysAgo(30), ...row });
const event = (organizationId: string, row: Parameters<typeof insertEvent>[2] = {}) =>
  insertEvent(db.database.prisma, organizationId, { occurredAt: daysAgo(1), ...row });
const deliver = (to: { id: string; organizationId: string }, { key }: { key: string }, row: object = {}) =>
  insertDelivery(db.database.prisma, to, { eventKey: key, ...row });
const find = async (...args: string[]) => {
  const { code, stdout, stderr } = await callHerald(["find", ...args, "--json"], { DATABASE_URL: db.url });
  expect(code).toBe(0);
  return { stderr, found: objectsIn(stdout) };
};
const exhausted = {
  state: "exhausted",
  attemptCount: 5,
  attemptedAt: new Date("2026-05-01T12:00:00Z"),
  statusCode: 410,
  errorSummary: "the receiver answered 410",
} as const;

test("herald find says where an event is: its trace, each delivery, and why an endpoint has none, and shows no payload", async () => {
  const gone = await endpoint("acme", "Gone");
  const paused = await endpoint("acme", "Paused", { enabled: false, disabledReason: "paused" });
  const body = JSON.stringify({ id: "i", entityType: "WorkItem", data: { secret: "do-not-show" } });
  const stored = await event("acme", { traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, body });
  const { id } = await deliver(gone, stored, exhausted);

  const { code, stdout, stderr } = await runHerald(["find", "--event", stored.id], { DATABASE_URL: db.url });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const lines = stdout.split("\n").map((line) => line.trimEnd().replaceAll(/ {2,}/g, " | "));
  for (const line of [
    `EVENT | ${stored.id}`,
    "organization | acme",
    "type | WorkItemCompleted",
    `entity | WorkItem ${stored.entityId}`,
    `key | ${stored.key}`,
    `trace | ${TRACE}`,
    `${gone.id} | Gone | ${id} | exhausted | 5 | 2026-05-01T12:00:00.000Z | 410 | the receiver answered 410`,
    `${paused.id} | Paused | none | disabled`,
    "disabled: The endpoint is disabled, by an admin or after failures. A resume within seven days of the event brings it.",
  ]) {
    expect(lines).toContain(line);
  }
  expect(stdout).not.toContain("do-not-show");
});

test("herald find --json prints what the API answers, with the organization and the trace, one event a line", async () => {
  const receiver = await endpoint("acme", "Receiver");
  const about = randomUUID();
  const older = await event("acme", { entityId: about, occurredAt: daysAgo(8) });
  const newer = await event("acme", { entityId: about, traceparent: `00-${TRACE}-00f067aa0ba902b7-01` });
  const { found } = await find("--entity", about);
  expect(found).toMatchObject([
    {
      organizationId: "acme",
      traceId: TRACE,
      key: newer.key,
      id: newer.id,
      occurredAtUtc: newer.occurredAt.toISOString(),
      endpoints: [{ endpointId: receiver.id, endpointName: "Receiver", delivery: null, reason: "not_yet" }],
    },
    { traceId: null, key: older.key, endpoints: [{ delivery: null, reason: "older_than_window" }] },
  ]);
  const part = await find("--entity", about, "--limit", "1");
  expect(part.found).toMatchObject([{ key: newer.key }]);
  expect(part.stderr).toContain("--limit");
});

test("herald find goes through all organizations that have an endpoint, or looks into the one that is named", async () => {
  const about = randomUUID();
  for (const organizationId of ["acme", "globex"]) await endpoint(organizationId, "Receiver");
  for (const organizationId of ["acme", "globex", "nobody"]) await event(organizationId, { entityId: about });
  const organizations = async (...args: string[]) =>
    (await find("--entity", about, ...args)).found.map(({ organizationId }) => organizationId);
  expect(await organizations()).toEqual(["acme", "globex"]);
  expect(await organizations("--organization", "globex")).toEqual(["globex"]);
  expect(await organizations("--organization", "nobody")).toEqual(["nobody"]);
  expect(await organizations("--organization", "elsewhere")).toEqual([]);
});

test("herald find finds an event by its delivery, and shows a manual delivery itself", async () => {
  const receiver = await endpoint("acme", "Receiver");
  const stored = await event("acme");
  const { id } = await deliver(receiver, stored, exhausted);
  expect((await find("--delivery", id)).found).toMatchObject([
    { organizationId: "acme", id: stored.id, endpoints: [{ delivery: { id, outcome: "exhausted", statusCode: 410 } }] },
  ]);
  expect((await find("--delivery", id, "--organization", "globex")).found).toEqual([]);
  const manual = await insertDelivery(db.database.prisma, receiver, exhausted);
  expect((await find("--delivery", manual.id)).found).toMatchObject([
    { organizationId: "acme", manualDelivery: { endpointId: receiver.id, delivery: { id: manual.id } } },
  ]);
  const { stdout } = await callHerald(["find", "--delivery", manual.id], { DATABASE_URL: db.url });
  expect(stdout).toContain(`MANUAL DELIVERY  ${manual.id}`);
  expect(stdout).toMatch(/Receiver {2}[\w-]+ {2}exhausted/);
});

test("herald find says of an event that was not taken why, even of an organization that has no endpoint", async () => {
  const eventId = randomUUID();
  const row = {
    eventId,
    cause: "unknown_type",
    type: "RiskCreatd",
    reason: "no such type",
    cameAt: daysAgo(1),
  } as const;
  await db.database.prisma.undeliveredEvent.create({ data: { ...row, organizationId: "acmee" } });
  const { found } = await find("--event", eventId.toUpperCase());
  expect(found).toEqual([
    {
      organizationId: "acmee",
      undelivered: {
        id: eventId,
        type: "RiskCreatd",
        cause: "unknown_type",
        reason: "no such type",
        cameAtUtc: row.cameAt.toISOString(),
      },
    },
  ]);
  const { stdout } = await callHerald(["find", "--event", eventId], { DATABASE_URL: db.url });
  expect(stdout).toMatch(/NOT DELIVERED +\S+\norganization +acmee\ntype +RiskCreatd\n/);
  expect(stdout).toContain("there is no type of this exact name");
  expect((await find("--event", eventId, "--organization", "acme")).found).toEqual([]);
});

test("herald find looks for an event's id or entity, and for endpoints, by an index", async () => {
  await storeHistory(db.database.prisma, "of a backlog");
  const id = randomUUID();
  for (const [sought, index] of [
    [{ eventId: id, entityId: null, deliveryId: null }, "business_event_organization_id_id_idx"],
    [{ eventId: null, entityId: id, deliveryId: null }, "business_event_organization_id_entity_id_key_idx"],
  ] as const) {
    await expectWalks(db.database.queries, [index, "undelivered_event_pkey", "delivery_pkey"], (queries) =>
      organizationsWith(queries, sought),
    );
  }
  const ofOne = { organizationId: "acme" };
  await expectWalks(db.database.queries, ["webhook_endpoint_organization_id_id_idx", "due_pkey"], (queries) =>
    storedEndpoints(queries, ofOne).next(),
  );
  for (const [whose, index] of [
    [ofOne, "endpoint_change_organization_id_id_idx"],
    [{ id }, "endpoint_change_endpoint_id_id_idx"],
  ] as const) {
    await expectWalks(db.database.queries, [index], (queries) => deletedEndpoints(queries, whose));
  }
});
