import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmitter, type EmittedEvent, type Emitter, newEvent } from "@herald/emitter";
import { certificates } from "@herald/testkit/harness/certificates";
import { eventually } from "@herald/testkit/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/testkit/harness/https-receiver";
import { type SteeredClock, steeredClock } from "@herald/testkit/harness/steered-clock";
import { type TestBroker, useBroker } from "@herald/testkit/harness/use-broker";
import { type TestDatabase, useDatabase } from "@herald/testkit/harness/use-database";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "@jest/globals";
import { type ApiClient, apiClient } from "../../src/herald/api-client.ts";
import { type Herald, type HeraldOptions, startHerald } from "../../src/herald/in-process.ts";
import type { HeraldPlace } from "../../src/herald/settings.ts";

/** One test's world: a Herald, an organization, a receiver and a product service, on a real database and broker. */
export interface Journey {
  readonly db: TestDatabase;
  readonly broker: TestBroker;
  readonly place: HeraldPlace;
  readonly herald: Herald;
  readonly clock: SteeredClock;
  readonly api: ApiClient;
  readonly receiver: HttpsReceiver;
  readonly emitter: Emitter;
  /** Resolves when no attempt is under way: what was received is written down. */
  settled(): Promise<void>;
  /** How many deliveries of the endpoint are in which state. */
  states(endpointId: string): Promise<Partial<Record<"pending" | "parked" | "succeeded" | "exhausted", number>>>;
  /** An event of the organization, that occurs now: a completed work item, unless said otherwise. */
  event(override?: Partial<EmittedEvent>): EmittedEvent;
}

/** Starts a world for each test of a file, at a time that stands still until the test moves it. */
export function useJourney(options: Omit<HeraldOptions, "clock"> = {}): Journey {
  const db = useDatabase();
  const broker = useBroker();
  let folder = "";
  let made: Omit<Journey, "db" | "broker" | "event" | "settled" | "states">;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "herald-journey-"));
    await writeFile(join(folder, "ca.pem"), (await certificates()).caPem);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  beforeEach(async () => {
    const place = {
      databaseUrl: db.url,
      amqpUrl: broker.url,
      namespace: broker.namespace,
      caFile: join(folder, "ca.pem"),
    };
    const clock = steeredClock(new Date());
    const herald = await startHerald(place, { ...options, clock });
    const emitter = createEmitter({ url: broker.url, namespace: broker.namespace });
    const receiver = await httpsReceiver();
    made = { place, clock, herald, emitter, receiver, api: await apiClient(herald.apiUrl) };
  });
  afterEach(async () => {
    await made.emitter.close();
    await made.herald.stop();
    await made.receiver.close();
  });

  return {
    db,
    broker,
    get place() {
      return made.place;
    },
    get herald() {
      return made.herald;
    },
    get clock() {
      return made.clock;
    },
    get api() {
      return made.api;
    },
    get receiver() {
      return made.receiver;
    },
    get emitter() {
      return made.emitter;
    },
    settled: () =>
      eventually(async () => {
        expect(await db.database.prisma.delivery.count({ where: { inFlight: true } })).toBe(0);
      }),
    async states(endpointId) {
      const where = { endpointId };
      const rows = await db.database.prisma.delivery.groupBy({ by: ["state"], where, _count: true });
      return Object.fromEntries(rows.map(({ state, _count }) => [state, _count]));
    },
    event: (override = {}) => ({
      ...newEvent({
        organizationId: made.api.organizationId,
        type: "WorkItemCompleted",
        entityType: "WorkItem",
        entityId: "0190a1b2-0000-7000-8000-0000000000aa",
        occurredAtUtc: made.clock.now().toISOString(),
        data: { changes: { Status: { oldValue: "InProgress", newValue: "Done" } } },
      }),
      ...override,
    }),
  };
}
