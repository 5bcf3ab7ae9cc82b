import { createRegistry } from "@herald/common/telemetry/metrics";
import { eventually } from "@herald/testkit/harness/eventually";
import { steeredClock } from "@herald/testkit/harness/steered-clock";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { afterEach, expect, test } from "@jest/globals";
import { joinMembers, type Members, type MembersOptions } from "../src/members/members.ts";
import { createMetrics } from "../src/metrics.ts";
import { beat } from "../src/sql/beat.ts";

const db = useDatabase();
const joined: Members[] = [];
afterEach(async () => {
  await Promise.all(joined.splice(0).map((each) => each.leave()));
  await db.database.prisma.dispatcher.deleteMany();
});

function join(options: Partial<MembersOptions> = {}, clock = { now: () => new Date(), monotonicMs: () => 0 }) {
  const warnings: string[] = [];
  const log = { debug() {}, info() {}, warn: (line: string) => warnings.push(line), error() {}, isDebug: false };
  const registry = createRegistry("test");
  const parts = { queries: db.database.queries, clock, metrics: createMetrics(registry), log };
  const members = joinMembers(parts, {
    cap: 10,
    isWithin: () => true,
    cutOffSince: () => null,
    onHold() {},
    ...options,
  });
  joined.push(members);
  return { members, registry, warnings };
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
  await beat(db.database.queries, { id: killed, agreedAt: null, cutOffSince: null, unseenMs: 60_000 });
  const { members } = join();
  await members.begun;
  expect(members.shareOf("endpoint").count).toBe(10);
  expect(await db.database.prisma.dispatcher.count({ where: { id: killed } })).toBe(0);
});

test("a dispatcher whose row was removed while it lives joins again, and says so", async () => {
  const { members, warnings } = join();
  await members.begun;
  await db.database.prisma.dispatcher.deleteMany();
  await eventually(() =>
    expect(warnings).toEqual(["the other dispatchers took this one for dead; it joins them again"]),
  );
  await eventually(() => expect(members.shareOf("endpoint").count).toBe(10));
});

test("since when a dispatcher is cut off stands in its row", async () => {
  const since = new Date("2026-03-01T12:00:00.000Z");
  let cutOffSince: Date | null = since;
  await join({ cutOffSince: () => cutOffSince }).members.begun;
  const stored = async () => (await db.database.prisma.dispatcher.findFirstOrThrow()).cutOffSince;
  expect(await stored()).toEqual(since);
  cutOffSince = null;
  await eventually(async () => expect(await stored()).toBeNull());
});

test("a clock that differs from PostgreSQL's by more than a second is told and exported, and by more than five not right", async () => {
  const clock = steeredClock(new Date(Date.now() - 60_000));
  const { members, registry, warnings } = join({}, clock);
  await members.begun;
  expect(members.isClockRight()).toBe(false);
  expect(warnings).toEqual(["this machine's clock and PostgreSQL's differ; leases may be over when they are written"]);
  const text = await registry.metrics();
  const [, seconds] = /^herald_clock_difference_seconds\{.*\} (\S+)$/m.exec(text) ?? [];
  expect(Number(seconds)).toBeLessThan(-59);
  await eventually(() => {
    clock.set(new Date());
    expect(members.isClockRight()).toBe(true);
  });
});
