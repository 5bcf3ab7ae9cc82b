import { randomUUID } from "node:crypto";
import { eventually } from "@herald/dev/harness/eventually";
import { beforeEach, expect, test } from "@jest/globals";
import { INBOX_TIME, useInbox, validEvent } from "./use-inbox.ts";

const inbox = useInbox();
const noticesOf = () => inbox.prisma.notice.findMany({ where: { type: "eventRejected" } });
const counted = async () => {
  const details = (await noticesOf()).map((notice) => notice.details as { events: number });
  return details.reduce((sum, { events }) => sum + events, 0);
};

beforeEach(async () => {
  await inbox.prisma.notice.deleteMany();
});

test("the product is told of a rejected event by the time it is in the rejected queue, and nothing of its data", async () => {
  const event = { ...validEvent({ organizationId: "acme", type: "RiskCreated" }), entityId: "customer 4711" };
  await inbox.publish(JSON.stringify({ ...event, data: { iban: "DE00" } }));
  await inbox.takeRejected(1);
  const [notice, ...more] = await noticesOf();
  expect(more).toEqual([]);
  expect(notice).toMatchObject({
    organizationId: "acme",
    endpointId: null,
    occurredAt: INBOX_TIME,
    // A second later, so that what follows is told with it.
    publishAt: new Date(INBOX_TIME.getTime() + 1_000),
    details: { eventId: event.id, eventType: "RiskCreated", reason: "/entityId must be a UUID", events: 1 },
  });
  expect(JSON.stringify(notice)).not.toMatch(/customer|DE00/);
});

test("a rejected message that can't be read is told with its reason alone", async () => {
  await inbox.publish(Buffer.from([0xff, 0x00, 0xfe]));
  await inbox.takeRejected(1);
  expect(await noticesOf()).toMatchObject([
    {
      organizationId: null,
      details: { eventId: null, eventType: null, reason: "the body is not valid UTF-8", events: 1 },
    },
  ]);
});

test("a flood of bad events is few notices, whatever organizations they name, and each event is counted and kept", async () => {
  const flood = 1_000;
  for (let index = 0; index < flood; index++) {
    const event = validEvent({ organizationId: `org-${randomUUID()}` });
    void inbox.publish(JSON.stringify({ ...event, entityId: index }));
  }
  expect((await inbox.takeRejected(flood)).length).toBe(flood);
  await eventually(async () => expect(await counted()).toBe(flood));
  // This publisher's clock stands still: all of it is told in one second.
  const told = new Set((await noticesOf()).map(({ organizationId }) => organizationId));
  expect(told.size).toBeLessThanOrEqual(21);
  await inbox.storeValid();
});

test("while PostgreSQL takes no notice a bad event waits, without a copy in the rejected queue each time", async () => {
  const { prisma } = inbox;
  await prisma.$executeRaw`alter table notice rename to notice_away`;
  try {
    await inbox.publish("{");
    await inbox.storeValid();
    const { messageCount } = await inbox.channel.checkQueue(inbox.names.rejectedQueue);
    expect(messageCount).toBe(0);
  } finally {
    await prisma.$executeRaw`alter table notice_away rename to notice`;
  }
  expect(await inbox.takeRejected(1)).toHaveLength(1);
  expect(await counted()).toBe(1);
});
