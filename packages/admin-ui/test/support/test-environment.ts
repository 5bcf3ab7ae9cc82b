import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { certificates } from "@herald/dev/harness/certificates";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { type SteeredClock, steeredClock } from "@herald/dev/harness/steered-clock";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useBrowser } from "@herald/dev/harness/use-browser";
import { useDatabase } from "@herald/dev/harness/use-database";
import { developmentToken, FULL_ACCESS } from "@herald/dev/start/development-token";
import { type ApiClient, apiClient } from "@herald/e2e/herald/api-client";
import { type Herald, type HeraldOptions, startHerald } from "@herald/e2e/herald/in-process";
import { JWT_SECRET } from "@herald/e2e/herald/settings";
import { createEmitter, type Emitter, type NewEvent, newEvent } from "@herald/emitter";
import { afterAll, afterEach, beforeAll, beforeEach } from "@jest/globals";
import type { BrowserContextOptions, Page } from "playwright-core";

interface Signed {
  organizationId?: string;
  permissions?: string[];
  entitlements?: string[];
  /** Of the person. */
  name?: string;
}

export type TestEnvironment = ReturnType<typeof useTestEnvironment>;

const BASE_PATH = "/apps/herald";

export interface TestEnvironmentOptions extends Omit<HeraldOptions, "clock"> {
  /** One organization for all tests of the file, which then leave its data alone; else each test has its own. */
  sharedOrganization?: boolean;
}

/** A Herald of the three real services, an organization with a receiver and a product service, and a browser: for a file. */
export function useTestEnvironment({ sharedOrganization = false, ...options }: TestEnvironmentOptions = {}) {
  let folder = "";
  let running: { herald: Herald; clock: SteeredClock; emitter: Emitter } | undefined;
  let made: { api: ApiClient; receiver: HttpsReceiver };
  const ready = () => {
    if (running === undefined) throw new Error("Herald runs from beforeAll on, not while the file is read.");
    return running;
  };

  // The first to be registered is the first to run: Herald ends before its database and its broker.
  if (sharedOrganization) afterAll(() => made.receiver.close());
  afterAll(async () => {
    await running?.emitter.close();
    await running?.herald.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const db = useDatabase();
  const broker = useBroker();
  const browser = useBrowser();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "herald-admin-ui-"));
    await writeFile(join(folder, "ca.pem"), (await certificates()).caPem);
    const { url: amqpUrl, namespace } = broker;
    const place = { databaseUrl: db.url, amqpUrl, namespace, caFile: join(folder, "ca.pem") };
    const clock = steeredClock(new Date());
    const settings = { BASE_PATH, ...options.settings };
    // Five failures that follow one another come before the first retry.
    const tuning = { pausesMs: [1_000, 2_000, 4_000, 8_000], ratesIntervalMs: 100, ...options.tuning };
    const herald = await startHerald(place, { ...options, clock, settings, tuning });
    running = { clock, herald, emitter: createEmitter({ url: amqpUrl, namespace }) };
  }, 300_000);

  async function makeOrganization(): Promise<void> {
    const { clock, herald } = ready();
    clock.set(new Date(Math.max(Date.now(), clock.now().getTime())));
    made = { api: await apiClient(herald.apiUrl + BASE_PATH), receiver: await httpsReceiver() };
  }
  if (sharedOrganization) {
    beforeAll(makeOrganization);
  } else {
    beforeEach(makeOrganization);
    afterEach(async () => {
      // Deliveries that a test leaves unfinished must not come due during the next one.
      await db.database.prisma.webhookEndpoint.deleteMany({ where: { organizationId: made.api.organizationId } });
      await made.receiver.close();
    });
  }

  /** The admin page's, without a trailing slash. */
  const pageUrl = (): string => `${ready().herald.apiUrl}${BASE_PATH}/administration/integrations`;

  /** Opens a browser window, signs in by the link that `pnpm start` prints, and goes to a place of the page. */
  async function signIn(place = "", options: BrowserContextOptions & Signed = {}): Promise<Page> {
    const { organizationId = made.api.organizationId, name, ...access } = options;
    const { permissions = FULL_ACCESS.permissions, entitlements = FULL_ACCESS.entitlements, ...rest } = access;
    const { page } = await browser.open(rest);
    const claims = { ...FULL_ACCESS, organizationId, permissions, entitlements, name };
    const token = await developmentToken(JWT_SECRET, claims);
    await page.goto(`${ready().herald.apiUrl}${BASE_PATH}/administration/sign-in#${token}`);
    await page.waitForURL(pageUrl());
    if (place) await page.goto(pageUrl() + place);
    return page;
  }

  /** Emits a business event that happens now. */
  async function emit(type: NewEvent["type"] = "WorkItemCompleted"): Promise<void> {
    // Deliveries are listed by the time of their events, so each event has a time of its own.
    const { clock, emitter } = ready();
    clock.advance(1);
    await emitter.emit(
      newEvent({
        ...{ organizationId: made.api.organizationId, occurredAtUtc: clock.now().toISOString() },
        ...{ type, entityType: "WorkItem", entityId: "0190a1b2-0000-7000-8000-0000000000aa" },
        data: { changes: { Status: { oldValue: "InProgress", newValue: "Done" } } },
      }),
    );
  }

  async function failing() {
    const where = { organizationId: made.api.organizationId };
    const [most] = await db.database.prisma.webhookEndpoint.findMany({
      where,
      orderBy: { consecutiveFailures: "desc" },
    });
    return { failures: most?.consecutiveFailures ?? 0, pausedUntil: most?.pausedUntil?.getTime() ?? 0 };
  }

  /** Emits events that the receiver refuses, one after another: each when the endpoint has rested from the one before. */
  async function emitRefused(count: number): Promise<void> {
    const { clock } = ready();
    for (let emitted = 0; emitted < count; emitted += 1) {
      const { failures, pausedUntil } = await failing();
      clock.set(new Date(Math.max(pausedUntil, clock.now().getTime())));
      await emit();
      await eventually(async () => {
        if ((await failing()).failures !== failures + 1) throw new Error("The refusal is not counted yet.");
      });
    }
  }

  return {
    db,
    get clock() {
      return ready().clock;
    },
    get api() {
      return made.api;
    },
    get receiver() {
      return made.receiver;
    },
    get pageUrl() {
      return pageUrl();
    },
    emit,
    emitRefused,
    signIn,
    takeProblems: browser.takeProblems,
  };
}
