import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { outcome } from "@herald/common/history/sql/deliveries";
import type { Outcome } from "@herald/contracts";
import { certificates } from "@herald/dev/harness/certificates";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { createEmitter, type EmittedEvent, type Emitter, newEvent } from "@herald/emitter";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "@jest/globals";
import { type ApiClient, apiClient } from "../../src/herald/api-client.ts";
import { type Herald, type HeraldOptions, startHerald } from "../../src/herald/in-process.ts";
import { type ServiceProcess, type ServiceProcessOptions, startServiceProcess } from "../../src/herald/processes.ts";
import { type HeraldEnvironment, heraldSettings } from "../../src/herald/settings.ts";

const HOUR_MS = 60 * 60_000;

/** With HERALD_AS_ONE=yes every journey that starts all three services has them as one process. */
function isAsOne({ dispatcher = true, publisher = true }: HeraldOptions): boolean {
  return process.env.HERALD_AS_ONE === "yes" && dispatcher && publisher;
}

/** A new event of an organization. */
export const workItemCompleted = (organizationId: string, occurredAt = new Date()): EmittedEvent =>
  newEvent({
    organizationId,
    type: "WorkItemCompleted",
    entityType: "WorkItem",
    entityId: "0190a1b2-0000-7000-8000-0000000000aa",
    occurredAtUtc: occurredAt.toISOString(),
    data: { changes: { Status: { oldValue: "InProgress", newValue: "Done" } } },
  });

/**
 * Starts a Herald for the tests of a file, or of a `describe`, on a real database and broker. Each test has for itself: an
 * organization, a receiver, and the services that it starts besides.
 *
 * @param options.partitioned false if its publisher makes all partitions, as in production. Else there is one of any time already, for
 *   tests that move the clock by days or store old rows
 */
export function useTestEnvironment({
  partitioned = true,
  ...options
}: Omit<HeraldOptions, "clock"> & { partitioned?: boolean } = {}) {
  /** The services' clock. It stands still until a test moves it, and goes on from there in the next test. */
  const clock = steeredClock(new Date());
  let folder = "";
  let shared: { servers: HeraldEnvironment; herald: Herald; emitter: Emitter };
  let own: { api: ApiClient; receiver: HttpsReceiver };
  const processes: ServiceProcess[] = [];

  // Ahead of those that remove database and broker: jest runs these hooks in their order.
  afterAll(async () => {
    await shared?.emitter.close();
    await shared?.herald.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const db = useDatabase({ partitioned });
  const broker = useBroker();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "herald-journey-"));
    const caFile = join(folder, "ca.pem");
    await writeFile(caFile, (await certificates()).caPem);
    const { namespace, serviceUrls } = broker;
    const servers = { databaseUrl: db.url, amqpUrl: broker.url, serviceUrls, namespace, caFile };
    const herald = await startHerald(servers, { asOne: isAsOne(options), ...options, clock });
    shared = { servers, herald, emitter: createEmitter({ url: broker.url, namespace, timeoutMs: 60_000 }) };
  });
  beforeEach(async () => {
    const url = shared.herald.apiUrl + (options.settings?.BASE_PATH ?? "");
    const api = await apiClient(url, undefined, { untilAvailable: true });
    own = { api, receiver: await httpsReceiver() };
  });
  afterEach(async () => {
    await own?.receiver.close();
    // Without endpoints, catch-ups and due rows nothing of this test is left to do when the next one moves the clock. A
    // settlement under way may hold what is deleted here.
    const { prisma } = db.database;
    await eventually(() => prisma.webhookEndpoint.deleteMany());
    await eventually(() => prisma.catchUp.deleteMany());
    await eventually(() => prisma.due.deleteMany());
    await shared.herald.stopAdditional();
    await Promise.all(processes.splice(0).map((each) => each.stop()));
  });

  return {
    db,
    broker,
    clock,
    /** The servers by their addresses, for services that a test starts as processes. */
    get servers() {
      return shared.servers;
    },
    get herald() {
      return shared.herald;
    },
    get emitter() {
      return shared.emitter;
    },
    /** A client of an organization that only this test has, as are `receiver` and `event`. */
    get api() {
      return own.api;
    },
    get receiver() {
      return own.receiver;
    },
    /** Starts a service as a process of its own, with these settings besides those of all; it ends with the test. */
    async startProcess(
      name: Parameters<typeof startServiceProcess>[0],
      settings?: Record<string, string>,
      options?: ServiceProcessOptions,
    ): Promise<ServiceProcess> {
      const started = await startServiceProcess(name, { ...heraldSettings(shared.servers), ...settings }, options);
      processes.push(started);
      return started;
    },
    /** An event of the organization, that occurs now: a completed work item, unless said otherwise. */
    event: (override: Partial<EmittedEvent> = {}): EmittedEvent => ({
      ...workItemCompleted(own.api.organizationId, clock.now()),
      ...override,
    }),
    /** Resolves when no attempt of the organization is under way: what was received is written down. */
    settled: () =>
      eventually(async () => {
        const { prisma } = db.database;
        // The clock stands still: what is due is under way, until it has ended or its retry is later.
        const { organizationId } = own.api;
        const enabled = await prisma.webhookEndpoint.findMany({ where: { organizationId, enabled: true } });
        const where = { endpointId: { in: enabled.map(({ id }) => id) }, dueAt: { lte: clock.now() } };
        expect(await prisma.due.count({ where })).toBe(0);
      }),
    /** How many deliveries of the endpoint have which outcome. */
    async outcomes(endpointId: string): Promise<Partial<Record<Outcome, number>>> {
      const rows = await db.database.prisma.$queryRaw<{ outcome: Outcome; count: number }[]>`
        select ${outcome} as outcome, count(*)::int as count
        from delivery left join webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id
        where delivery.endpoint_id = ${endpointId}::uuid
        group by 1`;
      return Object.fromEntries(rows.map((row) => [row.outcome, row.count]));
    },
    /**
     * Waits until none of the endpoint's unfinished deliveries is under way, and moves the clock to the time when the last of
     * them is due, or to `beforeMs` before it.
     *
     * @returns that time
     */
    async advanceToNextAttempts(endpointId: string, { beforeMs = 0 } = {}): Promise<Date> {
      const at = await eventually(async () => {
        const due = await db.database.prisma.due.findMany({ where: { endpointId }, orderBy: { dueAt: "desc" } });
        const [last] = due;
        const isUnderWay = due.some(({ dueAt }) => dueAt <= clock.now());
        if (!last || isUnderWay) throw new Error("No delivery of the endpoint waits, or one is under way.");
        return last.dueAt;
      });
      clock.set(new Date(Math.max(at.getTime() - beforeMs, clock.now().getTime())));
      return at;
    },
    /** Waits until the endpoint has failed this many times in a row, and moves the clock to the end of the pause that follows. */
    async rested(endpointId: string, failures: number): Promise<void> {
      const pausedUntil = await eventually(async () => {
        const endpoint = await db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: endpointId } });
        expect(endpoint.consecutiveFailures).toBe(failures);
        return endpoint.pausedUntil;
      });
      clock.set(new Date(Math.max(pausedUntil?.getTime() ?? 0, clock.now().getTime())));
    },
    /** Resolves when a catch-up that began now, or later, has passed the endpoint. */
    caughtUp: (endpointId: string) =>
      eventually(async () => {
        const { dueAt, againAt } = await db.database.prisma.catchUp.findUniqueOrThrow({ where: { endpointId } });
        // One that is under way has a lease. When it is over, it waits for the second look, or as the daily guard.
        const isOver = dueAt.getTime() === againAt?.getTime() || dueAt.getTime() > clock.now().getTime() + HOUR_MS;
        if (dueAt <= clock.now() || !isOver) throw new Error("No catch-up has passed the endpoint yet.");
      }),
  };
}
