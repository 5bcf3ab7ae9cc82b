import { randomUUID } from "node:crypto";
import { eventually } from "@herald/dev/harness/eventually";
import { beforeEach, expect, test } from "@jest/globals";
import { KEPT_OF_ORGANIZATION } from "../../src/hourly.ts";
import { INBOX_TIME, useInbox, validEvent } from "./use-inbox.ts";

const inbox = useInbox();
const HOUR_MS = 3_600_000;
const at = (ms: number) => new Date(INBOX_TIME.getTime() + ms).toISOString();
const rowsOf = (organizationId: string) =>
  inbox.prisma.undeliveredEvent.findMany({ where: { organizationId }, orderBy: { type: "asc" } });
const noticesOf = (organizationId: string) => inbox.prisma.notice.findMany({ where: { organizationId } });

let organizationId = "";
beforeEach(() => {
  // This publisher's clock stands still, so each test has an organization of its own.
  organizationId = `acme-${randomUUID()}`;
});

test("each event that is not taken is known by id, type and cause, and nothing of its data", async () => {
  const events = [
    { ...validEvent({ organizationId, type: "A.unknown" }) },
    { ...validEvent({ organizationId, occurredAtUtc: at(-8 * 24 * HOUR_MS) }) },
    { ...validEvent({ organizationId, occurredAtUtc: at(2 * HOUR_MS), type: "RiskCreated" }) },
    { ...validEvent({ organizationId, type: "ProjectCreated" }), entityId: "customer 4711" },
  ];
  for (const event of events) await inbox.publish(JSON.stringify(event));
  await inbox.takeRejected(2);
  const [unknown, old, future, broken] = events.map(({ id }) => id);
  await eventually(async () => expect(await rowsOf(organizationId)).toHaveLength(4));
  expect(await rowsOf(organizationId)).toEqual([
    {
      eventId: unknown,
      organizationId,
      cause: "unknown_type",
      type: "A.unknown",
      reason: "/type is none that events are delivered of: there is no type of this exact name",
      cameAt: INBOX_TIME,
    },
    expect.objectContaining({ eventId: broken, cause: "rejected", reason: "/entityId must be a UUID" }),
    expect.objectContaining({ eventId: future, cause: "in_future", type: "RiskCreated" }),
    expect.objectContaining({ eventId: old, cause: "too_old", type: "WorkItemCompleted" }),
  ]);
  expect(JSON.stringify(await rowsOf(organizationId))).not.toContain("customer");
});

test("an organization's misspelt type is one notice in an hour, and so many rows; the rest is counted", async () => {
  const before = await inbox.unkept();
  const count = KEPT_OF_ORGANIZATION + 100;
  const ignored = await inbox.counted("ignored");
  const publishing = Array.from({ length: count }, () =>
    inbox.publish(JSON.stringify(validEvent({ organizationId, type: "WorkItemCompletd" }))),
  );
  await Promise.all(publishing);
  await eventually(async () => expect(await inbox.counted("ignored")).toBe(ignored + count));
  expect(await rowsOf(organizationId)).toHaveLength(KEPT_OF_ORGANIZATION);
  expect((await inbox.unkept()) - before).toBe(100);
  const [notice, ...more] = await noticesOf(organizationId);
  expect(more).toEqual([]);
  expect(notice?.details).toMatchObject({ cause: "unknown_type", eventType: "WorkItemCompletd" });
  await inbox.storeValid();
});

test("an event that comes again is known once, as it came first", async () => {
  const event = validEvent({ organizationId, type: "WorkItemCompletd" });
  const ignored = await inbox.counted("ignored");
  for (let times = 0; times < 3; times++) await inbox.publish(JSON.stringify(event));
  await eventually(async () => expect(await inbox.counted("ignored")).toBe(ignored + 3));
  expect(await rowsOf(organizationId)).toHaveLength(1);
});

test("while PostgreSQL takes no row, an event of no known type waits, and then its row is there", async () => {
  const event = validEvent({ organizationId, type: "WorkItemCompletd" });
  const ignored = await inbox.counted("ignored");
  await inbox.prisma.$executeRaw`alter table undelivered_event rename to undelivered_event_away`;
  try {
    await inbox.publish(JSON.stringify(event));
    await inbox.storeValid();
    expect(await inbox.counted("ignored")).toBe(ignored);
  } finally {
    await inbox.prisma.$executeRaw`alter table undelivered_event_away rename to undelivered_event`;
  }
  await eventually(async () => expect(await inbox.counted("ignored")).toBe(ignored + 1));
  expect(await rowsOf(organizationId)).toMatchObject([{ eventId: event.id }]);
});
