import { randomUUID } from "node:crypto";
import { eventually } from "@herald/dev/harness/eventually";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { KEPT_OF_ORGANIZATION } from "../../src/inbox/rejections.ts";
import { INBOX_TIME, useInbox, validEvent } from "./use-inbox.ts";

const inbox = useInbox();
const HOUR_MS = 3_600_000;
const at = (ms: number) => new Date(INBOX_TIME.getTime() + ms).toISOString();
const rowsOf = (organizationId: string) =>
  inbox.prisma.undeliveredEvent.findMany({ where: { organizationId }, orderBy: { type: "asc" } });
const noticesOf = (organizationId: string) => inbox.prisma.notice.findMany({ where: { organizationId } });

/** Acts while PostgreSQL takes no row of a table. */
async function without(table: string, act: () => Promise<void>): Promise<void> {
  await inbox.prisma.$executeRawUnsafe(`alter table ${table} rename to away`);
  await act().finally(() => inbox.prisma.$executeRawUnsafe(`alter table away rename to ${table}`));
}

let organizationId = "";
beforeEach(() => {
  // This publisher's clock stands still, so each test has an organization of its own.
  organizationId = `acme-${randomUUID()}`;
});

test("each event that is not taken has a row with id, type and cause, without its data", async () => {
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

test("an organization's misspelt type has one notice in an hour, and a bounded number of rows; the rest is counted", async () => {
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

test("an event that comes again has one row, of its first coming", async () => {
  const event = validEvent({ organizationId, type: "WorkItemCompletd" });
  const ignored = await inbox.counted("ignored");
  for (let times = 0; times < 3; times++) await inbox.publish(JSON.stringify(event));
  await eventually(async () => expect(await inbox.counted("ignored")).toBe(ignored + 3));
  expect(await rowsOf(organizationId)).toHaveLength(1);
});

test("while PostgreSQL takes no row, an event of no known type waits, and then its row is there", async () => {
  const event = validEvent({ organizationId, type: "WorkItemCompletd" });
  const ignored = await inbox.counted("ignored");
  await without("undelivered_event", async () => {
    await inbox.publish(JSON.stringify(event));
    await inbox.storeValid();
    expect(await inbox.counted("ignored")).toBe(ignored);
  });
  await eventually(async () => expect(await inbox.counted("ignored")).toBe(ignored + 1));
  expect(await rowsOf(organizationId)).toMatchObject([{ eventId: event.id }]);
});

describe("notices of rejected events", () => {
  const rejectedNotices = () => inbox.prisma.notice.findMany({ where: { type: "eventRejected" } });

  beforeEach(async () => {
    await inbox.prisma.notice.deleteMany();
  });

  test("a rejected event has a notice by the time it is in the rejected queue, without its data", async () => {
    const event = { ...validEvent({ organizationId, type: "RiskCreated" }), entityId: "customer 4711" };
    await inbox.publish(JSON.stringify({ ...event, data: { iban: "DE00" } }));
    await inbox.takeRejected(1);
    const [notice, ...more] = await rejectedNotices();
    expect(more).toEqual([]);
    expect(notice).toMatchObject({
      organizationId,
      endpointId: null,
      occurredAt: INBOX_TIME,
      publishAt: INBOX_TIME,
      details: { eventId: event.id, eventType: "RiskCreated", reason: "/entityId must be a UUID" },
    });
    expect(JSON.stringify(notice)).not.toMatch(/customer|DE00/);
  });

  test("a flood of bad events is one notice, and all are in the rejected queue", async () => {
    const flood = 1_000;
    for (let index = 0; index < flood; index++) {
      void inbox.publish(JSON.stringify({ ...validEvent({ organizationId }), entityId: index }));
    }
    expect((await inbox.takeRejected(flood)).length).toBe(flood);
    expect(await rejectedNotices()).toMatchObject([{ organizationId, details: { cause: "rejected" } }]);
    expect(await rowsOf(organizationId)).toHaveLength(KEPT_OF_ORGANIZATION);
    await inbox.storeValid();
  });

  test("while PostgreSQL takes no notice a bad event waits, without a copy in the rejected queue each time", async () => {
    await without("notice", async () => {
      await inbox.publish("{");
      await inbox.storeValid();
      const { messageCount } = await inbox.channel.checkQueue(inbox.names.rejectedQueue);
      expect(messageCount).toBe(0);
    });
    expect(await inbox.takeRejected(1)).toHaveLength(1);
    expect(await rejectedNotices()).toHaveLength(1);
  });
});
