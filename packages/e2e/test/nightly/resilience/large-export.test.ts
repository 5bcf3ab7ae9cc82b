import { createHash, type Hash } from "node:crypto";
import { request } from "node:http";
import { insertEndpoint } from "@herald/dev/harness/rows";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { adminToken } from "../../../src/herald/api-client.ts";
import { type ServiceProcess, startServiceProcess } from "../../../src/herald/processes.ts";
import { chartLimit, containerHeap, peakOf } from "../../../src/herald/readings.ts";
import { heraldSettings } from "../../../src/herald/settings.ts";

let api: ServiceProcess | undefined;
// The first to be registered is the first to run: the process ends before its database and its broker.
afterAll(() => api?.stop());

// Storing is a few large statements.
const db = useDatabase({ statementTimeoutMs: 170_000, partitioned: false });
const broker = useBroker();

const ORGANIZATION = "organization-1";
const DELIVERIES = 200_000;
const DAYS = 8;
/** What V8 needs to reach its usual size: a tenth of the whole. */
const WARM_UP = 20_000;

let endpointId: string;
let authorization: string;

/** Deliveries of a day, each of an event of its own with a body of about a kilobyte. */
async function storeDay(day: number, count: number): Promise<void> {
  const { prisma } = db.database;
  const start = new Date(Date.now() - (day + 1) * 86_400_000);
  await prisma.$executeRaw`
    with event as (
      insert into business_event (organization_id, key, id, type, entity_id, occurred_at, received_at, body)
      select ${ORGANIZATION}, event_key(${ORGANIZATION}, id, at), id, 'WorkItemCompleted', id, at, at,
             json_build_object('id', id, 'text', repeat(md5(id::text), 30))::text
      from generate_series(1, ${count}::int) as number
      cross join lateral (
        select gen_random_uuid() as id,
               date_trunc('milliseconds', ${start}::timestamptz + number * interval '1 millisecond') as at
      ) as made
      returning key, occurred_at
    )
    insert into delivery (id, endpoint_id, organization_id, event_key, event_type, state, attempt_count, attempted_at, duration_ms, status_code, created_at)
    select delivery_id(key, ${endpointId}::uuid), ${endpointId}::uuid, ${ORGANIZATION}, key, 'WorkItemCompleted', 'succeeded', 1, occurred_at, 12, 204, occurred_at
    from event`;
}

beforeAll(async () => {
  const { prisma } = db.database;
  endpointId = (await insertEndpoint(prisma, { organizationId: ORGANIZATION })).id;
  for (let day = 0; day <= DAYS; day++) {
    await prisma.$executeRaw`select make_partitions(current_date - ${day}::int, current_date - ${day}::int + 1)`;
  }
  for (let day = 0; day < DAYS; day++) await storeDay(day, DELIVERIES / DAYS);
  await prisma.$executeRawUnsafe("vacuum analyze delivery, business_event");
  authorization = `Bearer ${await adminToken(ORGANIZATION)}`;
  const { url: amqpUrl, namespace } = broker;
  api = await startServiceProcess(
    "management-api",
    heraldSettings({ databaseUrl: db.url, amqpUrl, namespace, caFile: "" }),
    { nodeArgs: containerHeap(chartLimit("managementApi")) },
  );
}, 600_000);

interface Read {
  lines: number;
  bytes: number;
  /** Of the last line that came whole. */
  cursor: string;
}

/** Reads an export into a hash, whole lines only, and goes away when it has so many of them. */
async function readExport(query: string, hash: Hash, most = Number.POSITIVE_INFINITY): Promise<Read> {
  const path = `/api/organization/integration-operations/webhooks/${endpointId}/deliveries/export?${query}`;
  const read: Read = { lines: 0, bytes: 0, cursor: "" };
  await new Promise<void>((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port: api?.port, path, agent: false, headers: { authorization } });
    sent.on("error", reject).end();
    sent.on("response", (response) => {
      let tail = Buffer.alloc(0);
      response.on("data", (chunk: Buffer) => {
        const text = Buffer.concat([tail, chunk]);
        const end = text.lastIndexOf("\n") + 1;
        tail = text.subarray(end);
        if (end === 0 || read.lines >= most) return;
        const whole = text.subarray(0, end);
        hash.update(whole);
        const lines = whole.toString().trimEnd().split("\n");
        read.lines += lines.length;
        read.bytes += whole.length;
        read.cursor = (JSON.parse(lines.at(-1) ?? "") as { cursor: string }).cursor;
        if (read.lines < most) return;
        resolve();
        sent.destroy();
      });
      response.on("end", resolve);
      response.on("error", reject);
    });
  });
  return read;
}

test("an export of 200,000 deliveries with bodies takes no more memory than one of 20,000, and has the same bytes after an interruption and a resume", async () => {
  await readExport("bodies=true", createHash("sha256"), WARM_UP);
  const before = peakOf(api?.process.pid ?? 0);
  const whole = createHash("sha256");
  const { lines, bytes } = await readExport("bodies=true", whole);
  const peak = peakOf(api?.process.pid ?? 0);
  expect(lines).toBe(DELIVERIES);

  const parts = createHash("sha256");
  const first = await readExport("bodies=true", parts, DELIVERIES / 2);
  const second = await readExport(`bodies=true&cursor=${first.cursor}`, parts);
  expect(first.lines + second.lines).toBe(DELIVERIES);
  expect(parts.digest("hex")).toBe(whole.digest("hex"));

  const mebibytes = bytes / 1_048_576;
  process.stderr.write(
    `export: ${mebibytes.toFixed()} MiB, the process ${before.toFixed()} MiB before it and ${peak.toFixed()} MiB after\n`,
  );
  expect(mebibytes).toBeGreaterThan(200);
  // Herald's own share of it: what a tenth of the export had needed stays enough.
  expect(peak - before).toBeLessThan(mebibytes / 8);
  expect(peak).toBeLessThan(chartLimit("managementApi"));
}, 900_000);
