import { randomUUID } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { deliveryId } from "@herald/common/database/ids";
import type { Reads } from "@herald/common/database/queries";
import type { DeliveryExportRow } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { insertDelivery, insertEvent } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { parse } from "csv-parse/sync";
import { exportDeliveries } from "../src/export/export-deliveries.ts";
import { connectionLimits } from "../src/http/connection-limits.ts";
import { states, storeDelivery } from "./support/deliveries.ts";
import { download, type OpenDownload, openDownload } from "./support/downloads.ts";
import { type Client, create, useApi } from "./support/use-api.ts";

const HOUR_MS = 3_600_000;
const clock = steeredClock(new Date());
const api = useApi({ clock });
let client: Client;
let organizationId: string;
let endpoint: { id: string; organizationId: string };

beforeEach(async () => {
  organizationId = api.newOrganization();
  client = await api.as({ organizationId, expiresInS: 100_000 });
  endpoint = { id: (await create(client)).endpoint.id, organizationId };
});

const hoursAgo = (hours: number) => new Date(clock.now().getTime() - hours * HOUR_MS);
const path = (query = "") => `/webhooks/${endpoint.id}/deliveries/export${query && `?${query}`}`;
const exported = async (query = "") => (await download(api, path(query), { organizationId })).bytes;
const open = (query = "", headers = {}) => openDownload(api, path(query), { organizationId }, { headers });

const linesOf = (bytes: Buffer): DeliveryExportRow[] =>
  bytes
    .toString()
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as DeliveryExportRow);

type Cells = Record<string, string>;
const recordsOf = (bytes: Buffer) => parse(bytes, { columns: true, record_delimiter: "\r\n" }) as Cells[];

/** Bodies that a careless writer would change. */
const BODIES = [
  '{"a":1}',
  ' {"ä" : "\\u00e4"}\n',
  '"comma, quote \\" and\r\nline break"',
  "-1",
  '\t{"b": "=1+1"}',
  '\n"line\u2028separator"',
  '"\u{1f600}"',
];

/** Deliveries in each state, one of an event and the others by hand, hours ago. Returns their bodies by id. */
async function storeSome(): Promise<Map<string, string>> {
  const bodies = new Map<string, string>();
  for (const [index, body] of BODIES.entries()) {
    const state = Object.values(states)[index % 4] ?? states.succeeded;
    bodies.set(await storeDelivery(api.prisma, endpoint, { ...state, body, createdAt: hoursAgo(9 - index) }), body);
  }
  const { key, body } = await insertEvent(api.prisma, organizationId, { occurredAt: hoursAgo(1) });
  const id = deliveryId(key, endpoint.id);
  const createdAt = hoursAgo(1);
  await insertDelivery(api.prisma, endpoint, { ...states.exhausted, id, eventKey: key, createdAt });
  return bodies.set(id, body);
}

/** Many deliveries with a body of 100 KB each: more than connections hold, also compressed. */
const BIG_COUNT = 400;
async function storeBig({ id, organizationId }: typeof endpoint): Promise<void> {
  await api.prisma.$executeRaw`
    insert into delivery (id, endpoint_id, organization_id, event_type, body, state, attempt_count, created_at)
    select overlay(gen_random_uuid()::text placing
             left(lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0'), 8) || '-' ||
             right(lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0'), 4) || '-7' from 1 for 15)::uuid,
           ${id}::uuid, ${organizationId}, 'RiskCreated', '"' || body || '"', 'succeeded', 1, at
    from generate_series(1, ${BIG_COUNT}::int) as number
    cross join lateral (select ${hoursAgo(2)}::timestamptz + number * interval '1 second' as at) as made
    cross join lateral (
      select string_agg(md5(number::text || '/' || part::text), '') as body from generate_series(1, 3200) as part
    ) as written`;
}

describe("an export", () => {
  test("as NDJSON it is the history, newest first, with the exact bodies and a cursor in each row", async () => {
    const bodies = await storeSome();
    const { body: page } = await client.get(`/webhooks/${endpoint.id}/deliveries`).expect(200);
    const rows = linesOf(await exported("bodies=true"));
    expect(rows.map(({ cursor: _cursor, body: _body, ...item }) => item)).toEqual(page.deliveries);
    expect(rows.map(({ id, body }) => [id, body])).toEqual([...bodies].reverse());
    const plain = linesOf(await exported());
    expect(plain).toEqual(rows.map(({ body: _body, ...row }) => row));
    // Each line is held against the OpenAPI document.
    const { text } = await client.get(path("bodies=true")).expect(200);
    expect(text).toBe((await exported("bodies=true")).toString());
  });

  test("as CSV it holds the same, and no cell is a formula", async () => {
    const bodies = await storeSome();
    const rows = linesOf(await exported("bodies=true"));
    const bytes = await exported("format=csv&bodies=true");
    const records = recordsOf(bytes);
    const exact = (text = "") => text.replace(/^'/, "");
    expect(records.map(({ id, body }) => [id, exact(body)])).toEqual([...bodies].reverse());
    for (const [index, record] of records.entries()) {
      for (const [name, value] of Object.entries(rows[index] ?? {})) {
        expect([name, exact(record[name])]).toEqual([name, String(value ?? "")]);
      }
      for (const cell of Object.values(record)) expect(cell).not.toMatch(/^[=+\-@\t\r\n]/);
    }
    expect(recordsOf(await exported("format=csv")).map(({ id, ...cells }) => [id, "body" in cells])).toEqual(
      records.map(({ id }) => [id, false]),
    );
  });

  test("the names of a CSV's columns are there also where no delivery is", async () => {
    expect((await exported("format=csv")).toString()).toMatch(
      /^id,endpointId,endpointName,businessEventId,entityId,eventType,.*,cursor\r\n$/,
    );
    expect(await exported()).toHaveLength(0);
  });

  test.each(["ndjson", "csv"])(
    "one that was broken off at any byte of a %s goes on, and both parts are the same bytes as the whole",
    async (format) => {
      await storeSome();
      const parameters = `format=${format}&bodies=true&from=${hoursAgo(10).toISOString()}&to=${clock.now().toISOString()}`;
      const whole = await exported(parameters);
      clock.advance(60_000);
      // What comes to be in the meantime is no part of it: neither the newest delivery, nor one of an old event.
      await storeDelivery(api.prisma, endpoint, { ...states.succeeded, createdAt: clock.now() });
      const old = await insertEvent(api.prisma, organizationId, { occurredAt: hoursAgo(5) });
      const id = deliveryId(old.key, endpoint.id);
      const createdAt = new Date(clock.now().getTime() - 1_000);
      await insertDelivery(api.prisma, endpoint, { ...states.succeeded, id, eventKey: old.key, createdAt });
      const seen = new Set<string>();
      // What is kept changes with the line feeds only.
      for (let cut = 1; cut <= whole.length; cut++) {
        if (whole[cut - 1] !== 0x0a) continue;
        const kept = format === "csv" ? wholeRecords(whole.subarray(0, cut)) : wholeLines(whole.subarray(0, cut));
        const cursor = kept.cursor;
        if (cursor === undefined || seen.has(cursor)) continue;
        seen.add(cursor);
        const rest = await exported(`${parameters}&cursor=${cursor}`);
        expect(Buffer.concat([whole.subarray(0, kept.bytes), rest]).equals(whole)).toBe(true);
      }
      expect(seen.size).toBe(BODIES.length + 1);
      // Another one, begun later, is the same.
      expect((await exported(parameters)).equals(whole)).toBe(true);
      clock.advance(-60_000);
    },
  );

  test("every filter of the history filters an export", async () => {
    const about = randomUUID();
    const stored = await insertEvent(api.prisma, organizationId, { entityId: about, occurredAt: hoursAgo(3) });
    const id = deliveryId(stored.key, endpoint.id);
    const createdAt = hoursAgo(3);
    await insertDelivery(api.prisma, endpoint, { ...states.exhausted, id, eventKey: stored.key, createdAt });
    await storeSome();
    await storeDelivery(api.prisma, endpoint, { ...states.failing, eventType: "RiskCreated", createdAt: hoursAgo(2) });
    for (const query of [
      "outcome=exhausted",
      "outcome=failing&outcome=waiting",
      "eventType=RiskCreated",
      "statusCode=410&statusCode=204",
      `eventId=${stored.id}`,
      `entityId=${about}`,
      `deliveryId=${id.toUpperCase()}`,
      `from=${hoursAgo(4).toISOString()}`,
      `to=${hoursAgo(4).toISOString()}`,
      `from=${hoursAgo(4).toISOString()}&outcome=failing`,
    ]) {
      const { body } = await client.get(`/webhooks/${endpoint.id}/deliveries?${query}`).expect(200);
      const ids = linesOf(await exported(query)).map((row) => row.id);
      expect([query, ids]).toEqual([query, body.deliveries.map((row: { id: string }) => row.id)]);
      expect(ids.length).toBeGreaterThan(0);
    }
  });

  test.each([
    ["format=xml", "format"],
    ["bodies=maybe", "bodies"],
    ["limit=10", "limit"],
    ["cursor=nothing", "cursor"],
  ])("an export with %s is a 400 that names the parameter", async (query, parameter) => {
    const { body } = await client.get(path(query)).expect(400);
    expect(body.errors).toMatchObject([{ parameter }]);
  });

  test("without `to`, a new delivery enters no rest", async () => {
    const bodies = await storeSome();
    const [newest] = linesOf(await exported());
    await storeDelivery(api.prisma, endpoint, { ...states.succeeded, createdAt: clock.now() });
    expect(linesOf(await exported())).toHaveLength(bodies.size + 1);
    expect(linesOf(await exported(`cursor=${newest?.cursor}`))).toHaveLength(bodies.size - 1);
  });

  test("an export is a file with a safe name that no cache keeps, also for HEAD", async () => {
    await storeSome();
    const { status, headers, bytes } = await download(api, path("format=csv"), { organizationId });
    expect([status, headers["content-type"]]).toEqual([200, "text/csv; charset=utf-8"]);
    expect(headers["content-disposition"]).toMatch(
      /^attachment; filename="deliveries-[0-9a-f-]{36}-\d{8}T\d{6}Z\.csv"$/,
    );
    expect(headers["cache-control"]).toBe("no-store");
    expect(headers.ratelimit).toMatch(/^"reads"/);
    expect(bytes.length).toBeGreaterThan(0);
    const only = await download(api, path("format=csv"), { organizationId }, { method: "HEAD" });
    expect([only.status, only.bytes.length]).toEqual([200, 0]);
    expect(only.headers["content-disposition"]).toBe(headers["content-disposition"]);
    const missing = path().replace(endpoint.id, randomUUID());
    expect((await download(api, missing, { organizationId }, { method: "HEAD" })).status).toBe(404);
  });

  test("an export is compressed for those who take it", async () => {
    await storeSome();
    const { headers, bytes } = await download(
      api,
      path("bodies=true"),
      { organizationId },
      { headers: { "accept-encoding": "gzip" } },
    );
    expect(headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(bytes).equals(await exported("bodies=true"))).toBe(true);
  });
});

describe("an export that is large", () => {
  let big: typeof endpoint;
  beforeAll(async () => {
    const theirs = { organizationId: api.newOrganization() };
    big = { id: (await create(await api.as({ ...theirs, expiresInS: 100_000 }))).endpoint.id, ...theirs };
    await storeBig(big);
  });
  beforeEach(async () => {
    endpoint = big;
    organizationId = big.organizationId;
    client = await api.as({ organizationId, expiresInS: 100_000 });
  });

  /** No session of the database is at anything, none holds a lock on the history, and none comes to want one. */
  const expectNothingHeld = () =>
    eventually(async () => {
      await api.prisma.$transaction(async (transaction) => {
        await transaction.$executeRaw`lock table delivery in access exclusive mode nowait`;
        // A fixed wait, for what must not happen: an export whose reader doesn't wait would read on.
        await transaction.$queryRaw`select pg_sleep(0.3)::text`;
        const [others] = await transaction.$queryRaw<{ count: number }[]>`
          select count(*)::int as count from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle' and backend_type = 'client backend'`;
        expect(others?.count).toBe(0);
      });
    });

  test.each(["identity", "gzip"])(
    "a reader (%s) that stops holds no connection, and gets the whole when it goes on",
    async (encoding) => {
      const held = await open("bodies=true", { "accept-encoding": encoding });
      await expectNothingHeld();
      const bytes = await held.read();
      const whole = await exported("bodies=true");
      expect((encoding === "gzip" ? gunzipSync(bytes) : bytes).equals(whole)).toBe(true);
      expect(linesOf(whole)).toHaveLength(BIG_COUNT);
    },
  );

  test("of one organization two are under way at once, a third is a 429, and another organization's isn't", async () => {
    const two: OpenDownload[] = [await open("bodies=true"), await open("bodies=true")];
    const { body, headers } = await client.get(path()).expect(429);
    expect(body.code).toBe("too_many_requests");
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
    const other = { organizationId: api.newOrganization() };
    const { endpoint: theirs } = await create(await api.as(other));
    expect((await download(api, path().replace(endpoint.id, theirs.id), other)).status).toBe(200);
    // A client that goes away gives its place back.
    two[0]?.sent.destroy();
    await eventually(async () => expect((await download(api, path(), { organizationId })).status).toBe(200));
    two[1]?.sent.destroy();
  });

  test("no statement begins for a client that has gone", async () => {
    let statements = 0;
    const counting: Reads = {
      $queryRaw: <T>(statement: TemplateStringsArray, ...values: unknown[]) => {
        statements++;
        return api.prisma.$queryRaw<T>(statement, ...values);
      },
    };
    const { exportTurns } = connectionLimits(10);
    const parts = { prisma: api.prisma, queries: counting, clock, windowDays: 7, exportTurns };
    const gone = new AbortController();
    const { pieces } = exportDeliveries(parts, endpoint, { format: "ndjson", bodies: true });
    const source = pieces(gone.signal);
    expect((await source.next()).done).toBe(false);
    const before = statements;
    gone.abort();
    await expect(source.next()).rejects.toThrow(/abort/i);
    expect(statements).toBe(before);
  });

  // The last one, since it deletes what the others export.
  test("one whose endpoint is deleted in the middle breaks off, and never ends as if it were whole", async () => {
    const held = await open("bodies=true");
    await expectNothingHeld();
    const [{ version }] = (await client.get("/webhooks").expect(200)).body;
    await client.delete(`/webhooks/${endpoint.id}`, { version }).expect(204);
    await expect(held.read()).rejects.toThrow(/aborted|ECONNRESET/);
    await eventually(() => expect(api.logged.join("\n")).toContain("an answer broke off"));
  });
});

/** What a program keeps of a broken NDJSON: the lines that ended, and the cursor of the last of them. */
function wholeLines(bytes: Buffer): { bytes: number; cursor: string | undefined } {
  const kept = bytes.subarray(0, bytes.lastIndexOf("\n") + 1);
  return { bytes: kept.length, cursor: linesOf(kept).at(-1)?.cursor };
}

/** What a program keeps of a broken CSV: the records that its parser says have ended. */
function wholeRecords(bytes: Buffer): { bytes: number; cursor: string | undefined } {
  let kept = { bytes: 0, cursor: undefined as string | undefined };
  for (let end = bytes.indexOf("\r\n"); end >= 0; end = bytes.indexOf("\r\n", end + 1)) {
    const part = bytes.subarray(0, end + 2);
    try {
      kept = { bytes: part.length, cursor: recordsOf(part).at(-1)?.cursor };
    } catch {
      // A line break within a cell.
    }
  }
  return kept;
}
