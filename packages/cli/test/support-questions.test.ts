import { randomUUID } from "node:crypto";
import { insertDelivery, insertEndpoint, insertEvent } from "@herald/dev/harness/rows";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import { callHerald } from "./run-herald.ts";

// "Acme got no webhook at about 10:32": what an operator asks without any id, and what the command answers.

const db = useDatabase();
const HOUR_MS = 60 * 60_000;
/** 10:32 of a day within the window. */
const AT = new Date(`${new Date(Date.now() - 48 * HOUR_MS).toISOString().slice(0, 10)}T10:32:00.000Z`);
const after = (ms: number) => new Date(AT.getTime() + ms);
const iso = (ms: number) => after(ms).toISOString();
const WINDOW = ["--since", iso(-HOUR_MS / 4), "--until", iso(HOUR_MS / 4)];
const inZone = (ms: number) =>
  after(ms + 2 * HOUR_MS)
    .toISOString()
    .replace("Z", "+02:00");

beforeEach(
  () =>
    db.database.prisma
      .$executeRaw`truncate webhook_endpoint, business_event, delivery, due, undelivered_event, endpoint_change`,
);

const prisma = () => db.database.prisma;
type EventRow = Parameters<typeof insertEvent>[2];
const endpoint = (row: object = {}) =>
  insertEndpoint(prisma(), { organizationId: "acme", name: "Billing", createdAt: after(-720 * HOUR_MS), ...row });
const event = (row: EventRow = {}) => insertEvent(prisma(), "acme", { occurredAt: AT, ...row });
async function delivered(row: object, to: object = {}) {
  const stored = await event();
  await insertDelivery(prisma(), await endpoint(to), { eventKey: stored.key, createdAt: AT, ...row });
}
const refused = (cause: "rejected" | "in_future" | "unknown_type" | "too_old", organizationId = "acme") =>
  prisma().undeliveredEvent.create({
    data: { organizationId, eventId: randomUUID(), cause, type: "RiskCreatd", reason: `by ${cause}`, cameAt: AT },
  });
const changed = (row: object) =>
  prisma().endpointChange.create({
    data: {
      ...{ id: randomUUID(), organizationId: "acme", endpointId: randomUUID(), endpointName: "Billing", revision: 1n },
      ...{ changedAt: after(HOUR_MS), changedBy: "admin", name: "Ana", subject: "7" },
      ...row,
    },
  });
const settings = (enabled: boolean) => ({ name: "Billing", url: "https://b.example.com/", enabled, events: [] });
const paused = { enabled: false, disabledReason: "paused", disabledAt: after(-HOUR_MS), disabledBy: "Ana" };
const failed = {
  ...{ attemptCount: 1, attemptedAt: AT, statusCode: 503 },
  ...{ failureKind: "http_status", errorSummary: "receiver answered 503" },
};
const ended = { ...failed, attemptCount: 5 };

type Case = [title: string, situation: () => Promise<unknown>, answer: readonly (string | RegExp)[], args?: string[]];

const cases: Case[] = [
  [
    "it arrived",
    () => delivered({ state: "succeeded", attemptCount: 1, attemptedAt: AT, statusCode: 204 }),
    [/Billing .* succeeded +1 +\S+T10:32:00.000Z +204/],
  ],
  ["no attempt was made", () => delivered({}), [/waiting, due now +0/, "waiting: No attempt has been made yet."]],
  [
    "it is tried again",
    () => delivered(failed),
    [/failing.*503 .*receiver answered 503/, "failing: The latest attempt failed, and another one follows."],
  ],
  [
    "no answer came, which SPEC 2.2 records as 503",
    () => delivered({ ...failed, failureKind: "timed_out", errorSummary: "timed out after 15 s" }),
    [/failing, due now +1 +\S+T10:32:00.000Z +timed out after 15 s/],
  ],
  [
    "the receiver refused it five times",
    () => delivered({ ...ended, state: "exhausted" }),
    [/exhausted +5 .*503/, "exhausted: Every attempt failed, and none follows. An admin can send it again."],
  ],
  ["it became too old", () => delivered({ ...ended, state: "expired" }), [/expired +5/, "so Herald ended it."]],
  [
    "it waits for a paused endpoint",
    () => delivered(failed, paused),
    [/parked +1/, "parked: The endpoint is disabled. A resume sends it."],
  ],
  [
    "Herald disabled the endpoint after failures",
    () => Promise.all([endpoint({ ...paused, disabledReason: "failures", disabledBy: null }), event()]),
    [/none +disabled/, "by an admin or after failures"],
  ],
  [
    "it is filtered by type",
    () => Promise.all([endpoint({ events: ["RiskCreated"] }), event()]),
    [/none +not_subscribed/, "isn't subscribed to events of this type"],
  ],
  ["it was too old when it came", () => refused("too_old"), [/cause +too_old/, "older than seven days when it came"]],
  ["it broke the contract", () => refused("rejected"), [/NOT DELIVERED/, /reason +by rejected/]],
  ["its type has a typing error", () => refused("unknown_type"), [/type +RiskCreatd/, "no type of this exact name"]],
  ["its emitter's clock was ahead", () => refused("in_future"), ["the clock of its emitter was wrong"]],
  ["the organization has no endpoint", () => event(), ["The organization has no endpoint."]],
  [
    "its endpoint was deleted since",
    () =>
      Promise.all([event(), changed({ id: `${"f".repeat(8)}-0000-7000-8000-000000000000`, before: settings(true) })]),
    [/Endpoint \S+ "Billing" was deleted at \S+T11:32:00.000Z by Ana/, "no endpoint"],
  ],
  [
    "the event was another organization's",
    () => Promise.all([endpoint(), insertEvent(prisma(), "globex", { occurredAt: AT })]),
    ["No event of this organization is kept.", "Nothing was found"],
  ],
  [
    "nothing was emitted then",
    () => Promise.all([endpoint(), event({ occurredAt: after(-HOUR_MS) })]),
    [
      `The newest event of this organization is of ${iso(-HOUR_MS)}.`,
      'Nothing was found. "herald doctor" says whether events wait to be stored, "herald rejected list" what came without an id',
    ],
  ],
  [
    "there is no such organization",
    () => Promise.all([endpoint({ organizationId: "Acme" }), insertEvent(prisma(), "Acme", { occurredAt: AT })]),
    ["Herald knows no organization of this id", "capitals too"],
  ],
  [
    "the customer's clock has another zone",
    () => Promise.all([endpoint(), event()]),
    [/none +not_yet/],
    ["--since", inZone(-60_000), "--until", inZone(60_000)],
  ],
  [
    "the end of the time is not part of it",
    () => event(),
    ["Nothing was found"],
    ["--since", iso(-60_000), "--until", iso(0)],
  ],
  ["the beginning of the time is part of it", () => event(), ["EVENT"], ["--since", iso(0), "--until", iso(1)]],
  [
    "a rare type among many events",
    async () => {
      await event({ type: "RiskCreated", occurredAt: after(-60_000) });
      await prisma().$executeRaw`
        insert into business_event (organization_id, key, id, type, entity_id, occurred_at, received_at, body)
        select 'acme', overlay(key::text placing lpad(to_hex(n), 12, '0') from 25)::uuid, gen_random_uuid(), 'WorkItemCompleted', entity_id, ${AT}, ${AT}, body
        from business_event, generate_series(1, 2100) as n where type = 'RiskCreated'`;
    },
    [/type +RiskCreated/],
    [...WINDOW, "--type", "RiskCreated"],
  ],
];

test.each(cases)("herald find --organization answers: %s", async (_, situation, answer, args = WINDOW) => {
  await situation();
  const { code, stdout, stderr } = await callHerald(["find", "--organization", "acme", ...args], {
    DATABASE_URL: db.url,
  });
  expect(code).toBe(0);
  for (const each of answer) expect(stdout + stderr).toMatch(each);
});

test.each([
  [["--since", "2026-01-31T10:32:00"], "--since takes a time such as"],
  [["--until", "10:32"], "--until takes a time such as"],
  [["--since", iso(0), "--until", iso(0)], "--since takes a time before that of --until"],
])("herald find refuses the time %j", async (args, message) => {
  const { code, stderr } = await callHerald(["find", "--organization", "acme", ...args], { DATABASE_URL: db.url });
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

test("herald endpoints list shows all of an organization's endpoints, and which were deleted", async () => {
  const billing = await endpoint();
  const stopped = await endpoint({ ...paused, name: "Stopped" });
  await endpoint({ organizationId: "globex" });
  const deletion = await changed({ endpointName: "Gone", before: settings(true) });
  await changed({ endpointName: "Made", after: settings(true) });
  const { code, stdout, stderr } = await callHerald(["endpoints", "list", "--organization", "acme"], {
    DATABASE_URL: db.url,
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`${billing.id} +acme +enabled +0 +Billing`));
  expect(stdout).toMatch(new RegExp(`${stopped.id} +acme +paused +${iso(-HOUR_MS)} +0 +Stopped`));
  expect(stdout.split("\n")).toHaveLength(4);
  expect(stderr).toBe(`2 endpoints.\nDeleted: ${deletion.endpointId} Gone, at ${iso(HOUR_MS)} by Ana.\n`);
  expect((await callHerald(["endpoints", "list"], { DATABASE_URL: db.url })).code).toBe(2);
});

test("herald endpoints show says how an endpoint is and was, and never a secret", async () => {
  const headers = { "X-Tenant": "sealed-value" };
  const { id } = await endpoint({ ...paused, sealedSecret: "sealed-secret", headers });
  await changed({ endpointId: id, before: settings(true), after: settings(false) });
  const show = (...args: string[]) => callHerald(["endpoints", "show", ...args], { DATABASE_URL: db.url });
  const { code, stdout, stderr } = await show(id.toUpperCase());
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(`disabled since ${iso(-HOUR_MS)} by Ana`);
  expect(stdout).toMatch(/own headers +X-Tenant\nevents +WorkItemCompleted\n/);
  expect(stdout).toMatch(/T11:32:00.000Z +paused +Ana +\{"enabled":true\} +\{"enabled":false\}/);
  const json = await show(id, "--json");
  expect(JSON.parse(json.stdout)).toMatchObject({ id, organizationId: "acme", changes: [{ kind: "paused" }] });
  expect(stdout + json.stdout).not.toContain("sealed");

  const gone = await changed({ before: settings(true) });
  expect((await show(gone.endpointId)).stdout).toMatch(/state +deleted\n\nCHANGED[\s\S]* deleted +Ana/);
  const missing = await show(randomUUID());
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no endpoint") });
  expect((await show("Billing")).code).toBe(2);
});
