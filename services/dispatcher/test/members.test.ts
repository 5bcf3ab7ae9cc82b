import { randomUUID } from "node:crypto";
import { createRegistry } from "@herald/common/telemetry/metrics";
import { eventually } from "@herald/dev/harness/eventually";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, expect, test } from "@jest/globals";
import { joinMembers, type Members, type MembersOptions } from "../src/members/members.ts";
import { createMetrics } from "../src/metrics.ts";
import { beat } from "../src/sql/beat.ts";

const db = useDatabase();
const joined: Members[] = [];
afterEach(async () => {
  await Promise.all(joined.splice(0).map((each) => each.leave()));
  await db.database.prisma.process.deleteMany();
});

function join(options: Partial<MembersOptions> = {}) {
  const warnings: string[] = [];
  const log = { debug() {}, info() {}, warn: (line: string) => warnings.push(line), error() {}, isDebug: false };
  const parts = { queries: db.database.queries, metrics: createMetrics(createRegistry("test")), log };
  const members = joinMembers(parts, {
    id: randomUUID(),
    cap: 10,
    isWithin: () => true,
    outageSince: () => null,
    onHold() {},
    ...options,
  });
  joined.push(members);
  return { members, warnings };
}

const countsOf = (all: readonly Members[]) =>
  all.map((members) => members.shareOf("endpoint").count).sort((one, other) => one - other);

test("dispatchers that start in the same moment share out an endpoint's attempts, and one that ends leaves them to the others", async () => {
  const all = [join(), join(), join()].map(({ members }) => members);
  await Promise.all(all.map(({ begun }) => begun));
  await eventually(() => expect(countsOf(all)).toEqual([3, 3, 4]));
  expect(all.filter((members) => members.shareOf("endpoint").first)).toHaveLength(1);
  const [first, ...others] = all;
  await first?.leave();
  await eventually(() => expect(countsOf(others)).toEqual([5, 5]));
});

test("the first beat asks for nothing that is made after the members are", async () => {
  let isMade = false;
  const isWithin = () => {
    if (!isMade) throw new ReferenceError("The slots are made of the members.");
    return true;
  };
  const { members, warnings } = join({ isWithin });
  isMade = true;
  await members.begun;
  expect(warnings).toEqual([]);
});

test("a newcomer waits until another dispatcher's attempts are within its new share", async () => {
  let taken = 0;
  const { members: old } = join({ isWithin: (capOf) => taken <= capOf("endpoint") });
  await old.begun;
  taken = 10;
  const { members: newcomer } = join();
  await eventually(() => expect(old.shareOf("endpoint").count).toBe(5));
  // A fixed wait, to show an absence: the newcomer has beaten several times meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(newcomer.hasBegun()).toBe(false);
  taken = 5;
  await newcomer.begun;
  expect(countsOf([old, newcomer])).toEqual([5, 5]);
});

test("a dispatcher that was killed is left out after some seconds", async () => {
  const killed = "0190a1b2-0000-7000-8000-0000000000dd";
  await beat(db.database.queries, { id: killed, agreedAt: null, outageSince: null, unseenMs: 60_000 });
  const { members } = join();
  await members.begun;
  expect(members.shareOf("endpoint").count).toBe(10);
  expect(await db.database.prisma.process.count({ where: { id: killed } })).toBe(0);
});

test("a dispatcher whose row was removed while it lives joins again, and says so", async () => {
  const { members, warnings } = join();
  await members.begun;
  await db.database.prisma.process.deleteMany();
  await eventually(() =>
    expect(warnings).toEqual(["the other dispatchers took this one for dead; it joins them again"]),
  );
  await eventually(() => expect(members.shareOf("endpoint").count).toBe(10));
});

test("the others have the share of a dispatcher in an outage, until it is back and they have counted it", async () => {
  let since: Date | null = null;
  const { members: ill, warnings } = join({ outageSince: () => since });
  const { members: well } = join();
  await Promise.all([ill.begun, well.begun]);
  const counts = () => [ill, well].map((members) => members.shareOf("endpoint").count);
  await eventually(() => expect(counts()).toEqual([5, 5]));
  since = new Date();
  await eventually(() => expect(counts()).toEqual([0, 10]));
  expect(well.shareOf("endpoint").first).toBe(true);
  since = null;
  await eventually(() => expect(counts()).toEqual([5, 5]));
  expect(warnings).toEqual([]);
});

test("a dispatcher in an outage keeps its share until its last attempt has ended, so that all together stay within the cap", async () => {
  let since: Date | null = null;
  let taken = 0;
  const { members: ill } = join({ outageSince: () => since, isWithin: (capOf) => taken <= capOf("endpoint") });
  const { members: well } = join();
  await Promise.all([ill.begun, well.begun]);
  await eventually(() => expect(countsOf([ill, well])).toEqual([5, 5]));
  taken = 1;
  since = new Date();
  // A fixed wait, to show an absence: it has beaten since.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  expect(well.shareOf("endpoint").count).toBe(5);
  taken = 0;
  await eventually(() => expect(well.shareOf("endpoint").count).toBe(10));
});

test("since when a dispatcher has an outage stands in its row", async () => {
  const since = new Date("2026-03-01T12:00:00.000Z");
  let outageSince: Date | null = null;
  await join({ outageSince: () => outageSince }).members.begun;
  const stored = async () => (await db.database.prisma.process.findFirstOrThrow()).outageSince;
  outageSince = since;
  await eventually(async () => expect(await stored()).toEqual(since));
  outageSince = null;
  await eventually(async () => expect(await stored()).toBeNull());
});
