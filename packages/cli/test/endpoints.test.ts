import { insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import { callHerald, objectsIn, runHerald } from "./run-herald.ts";

const db = useDatabase();
const INCIDENT = new Date("2026-05-01T12:00:00.000Z");
const BEFORE = new Date(INCIDENT.getTime() - 1);
const failed = { enabled: false, disabledReason: "failures", consecutiveFailures: 5, failureRun: ["a/1"] } as const;

beforeEach(async () => {
  const { prisma } = db.database;
  await Promise.all([prisma.webhookEndpoint.deleteMany(), prisma.catchUp.deleteMany(), prisma.due.deleteMany()]);
});

const endpoint = (row: object) => insertEndpoint(db.database.prisma, row);
const run = (...args: string[]) =>
  callHerald(["endpoints", ...args, "--disabled-since", INCIDENT.toISOString()], { DATABASE_URL: db.url });
const stored = (id: string) => db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });

/** Endpoints that an incident disabled, and others that it did not touch. */
async function afterIncident() {
  const mine = await endpoint({ ...failed, disabledAt: INCIDENT, organizationId: "mine", name: "Mine" });
  const yours = await endpoint({ ...failed, disabledAt: new Date(), organizationId: "yours", name: "Yours" });
  const paused = await endpoint({ enabled: false, disabledReason: "paused", disabledAt: INCIDENT, name: "Paused" });
  const earlier = await endpoint({ ...failed, disabledAt: BEFORE, name: "Earlier" });
  const enabled = await endpoint({ name: "Enabled" });
  return { mine, yours, others: [paused, earlier, enabled], all: [mine, yours, paused, earlier, enabled] };
}

test("herald endpoints list shows what was disabled since a time, and what waits for it", async () => {
  const { mine, yours } = await afterIncident();
  await insertDelivery(db.database.prisma, mine);
  const { code, stdout, stderr } = await runHerald(
    ["endpoints", "list", "--disabled-since", INCIDENT.toISOString(), "--reason", "failures"],
    { DATABASE_URL: db.url },
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: "2 endpoints disabled.\n" });
  expect(stdout).toContain("ENDPOINT");
  expect(stdout).toContain(`${mine.id}  mine          failures  ${INCIDENT.toISOString()}  1        Mine`);
  expect(stdout).toContain(yours.id);
  const json = await run("list", "--organization", "mine", "--json");
  expect(objectsIn(json.stdout)).toEqual([
    {
      id: mine.id,
      organizationId: "mine",
      name: "Mine",
      url: mine.url,
      disabledReason: "failures",
      disabledAt: INCIDENT.toISOString(),
      waiting: 1,
    },
  ]);
  expect((await run("list")).stderr).toBe("3 endpoints disabled.\n");
});

test("herald endpoints resume says what it would resume, and changes nothing without --apply", async () => {
  const { all } = await afterIncident();
  const { code, stdout, stderr } = await run("resume", "--reason", "failures");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "2 endpoints would be resumed; --apply does it.\n" });
  expect(stdout.split("\n").filter((line) => / {2}(Mine|Yours) {2}/.test(line))).toHaveLength(2);
  for (const before of all) expect(await stored(before.id)).toEqual(before);
});

test("§3.1/resume herald endpoints resume --apply does what an admin's resume does: the count starts over, the version changes, and the publisher catches up", async () => {
  const { mine, yours, others } = await afterIncident();
  const { code, stdout, stderr, audit } = await run("resume", "--reason", "failures", "--apply");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "2 endpoints resumed.\n" });
  expect(audit).toMatchObject({ action: "endpoints resume", result: "done", details: { resumed: 2 } });
  for (const before of [mine, yours]) {
    expect(stdout).toContain(`resumed ${before.id}`);
    expect(await stored(before.id)).toMatchObject({
      enabled: true,
      disabledReason: null,
      disabledAt: null,
      consecutiveFailures: 0,
      failureRun: [],
      revision: before.revision + 1n,
      sealedSecret: before.sealedSecret,
      events: before.events,
    });
  }
  for (const before of others) expect(await stored(before.id)).toEqual(before);
  const changes = await db.database.prisma.endpointChange.findMany();
  expect(changes.map(({ endpointId }) => endpointId).sort()).toEqual([mine.id, yours.id].sort());
  for (const change of changes) expect(change).toMatchObject({ changedBy: "operator", subject: null, name: null });
  const catchUps = await db.database.prisma.catchUp.findMany();
  expect(catchUps.map(({ endpointId }) => endpointId).sort()).toEqual([mine.id, yours.id].sort());
  expect(catchUps).toMatchObject([{ priority: 0 }, { priority: 0 }]);
  expect((await run("resume", "--reason", "failures", "--apply")).stderr).toBe("0 endpoints resumed.\n");
});

test("a resume of many is narrowed to an organization and a reason, and says each in JSON", async () => {
  const { mine, yours } = await afterIncident();
  const { stdout } = await run("resume", "--reason", "failures", "--organization", "mine", "--apply", "--json");
  expect(objectsIn(stdout)).toMatchObject([{ id: mine.id, resumed: true }]);
  expect(await stored(yours.id)).toMatchObject({ enabled: false });
  await run("resume", "--reason", "paused", "--apply");
  expect(await stored(yours.id)).toMatchObject({ enabled: false });
  expect(await db.database.prisma.webhookEndpoint.count({ where: { disabledReason: "paused" } })).toBe(0);
});

test("more endpoints than are read at once are all resumed", async () => {
  await db.database.prisma.$executeRaw`
    insert into webhook_endpoint (id, organization_id, name, url, enabled, events, sealed_secret, disabled_reason, disabled_at,
      created_at, updated_at)
    select gen_random_uuid(), 'many', 'Endpoint', 'https://hooks.example.com/', false, '{WorkItemCompleted}', 'sealed',
      'failures', ${INCIDENT}::timestamptz, now(), now()
    from generate_series(1, 230)`;
  expect((await run("resume", "--reason", "failures", "--apply")).stderr).toBe("230 endpoints resumed.\n");
  expect(await db.database.prisma.webhookEndpoint.count({ where: { enabled: true } })).toBe(230);
});
