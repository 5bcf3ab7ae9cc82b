import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createEmitter, type EmittedEvent, type Emitter, newEvent } from "@herald/emitter";
import { eventually } from "@herald/testkit/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/testkit/harness/https-receiver";
import { STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { type ApiClient, apiClient } from "../../../src/herald/api-client.ts";
import { openShell, type Shell } from "./compose.ts";
import { type Prometheus, shortened, startPrometheus } from "./prometheus.ts";
import { documentedMetrics, projectFile, rules } from "./queries.ts";
import { stepsOf } from "./runbook.ts";
import { type RunningSystem, startSystem } from "./running-system.ts";

// Herald as it runs in production, watched by a real Prometheus with the rules that are deployed. Each test breaks something,
// sees the alerts fire, does what their pages of the runbook say, and sees the alerts end.

/** SPEC's and Herald's times, shortened as the rules are, so that nothing is waited for longer than for Prometheus. */
const SETTINGS = {
  RETRY_DELAYS_SECONDS: "1,1,1,1",
  ATTEMPT_TIMEOUT_SECONDS: "3",
  CLAIM_LEASE_SECONDS: "6",
  DATABASE_TIMEOUT_SECONDS: "3",
  HINT_GRACE_SECONDS: "2",
  RETRY_INTERVAL_SECONDS: "0.5",
  CATCH_UP_INTERVAL_SECONDS: "0.5",
  NOTICE_INTERVAL_SECONDS: "0.5",
  RETENTION_INTERVAL_SECONDS: "2",
  // What a publisher holds doesn't count as waiting.
  EVENT_PREFETCH: "50",
  FAN_OUT_BATCH_SIZE: "50",
};

/** Those that no test here fires, with the reason; `promtool` shows that they do. */
const NOT_FIRED = {
  HeraldRetentionStuck: "its two days are a number in the query, which is the deployed one",
};

const WAIT_MS = 120_000;

let folder = "";
let system: RunningSystem;
let prometheus: Prometheus;
let shell: Shell;
let emitter: Emitter;
let receiver: HttpsReceiver;
const fired = new Set<string>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "herald-incidents-"));
  prometheus = await startPrometheus(join(folder, "prometheus"));
  system = await startSystem(SETTINGS, prometheus.scrape);
  shell = await openShell(folder, system.compose);
  // Old enough to be erased.
  await system.query(
    `insert into business_event (organization_id, id, type, occurred_at, received_at, body)
     values ('of-old', gen_random_uuid(), 'WorkItemCompleted', now() - interval '90 days', now() - interval '90 days', '{}')`,
  );
  // What a counter counted before it is seen is no increase.
  await eventually(async () => expect(await prometheus.count("herald_build_info")).toBe(3), { timeoutMs: 30_000 });
  emitter = createEmitter({ url: system.amqpUrl, namespace: system.namespace, timeoutMs: 30_000 });
  receiver = await httpsReceiver();
}, STACK_TIMEOUT_MS);

afterAll(async () => {
  await emitter?.close();
  await shell?.close();
  await system?.close();
  await prometheus?.stop();
  await receiver?.close();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

function event(organizationId: string): EmittedEvent {
  return newEvent({
    organizationId,
    type: "WorkItemCompleted",
    entityType: "WorkItem",
    entityId: "0190a1b2-0000-7000-8000-0000000000aa",
    data: { changes: { Status: { oldValue: "InProgress", newValue: "Done" } } },
  });
}

async function emit(organizationId: string, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => emitter.emit(event(organizationId))));
}

/** An organization with endpoints whose receiver answers as its path says. */
async function organization(path: string, count = 1): Promise<ApiClient & { ids: string[] }> {
  const api = await apiClient(system.apiUrl);
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    ids.push((await api.create({ url: `${receiver.url}${path}` })).endpoint.id);
  }
  return { ...api, ids };
}

/** Resolves when the alert fires, with where its page is. */
async function fires(alert: string, labels: Record<string, string> = {}): Promise<string> {
  return await eventually(
    async () => {
      const [firing] = (await prometheus.firing(alert)).filter((each) =>
        Object.entries(labels).every(([name, value]) => each.labels[name] === value),
      );
      if (firing === undefined) throw new Error(`${alert} does not fire.`);
      fired.add(alert);
      return firing.annotations.runbook_url;
    },
    { timeoutMs: WAIT_MS, intervalMs: 250 },
  );
}

async function ends(...alerts: string[]): Promise<void> {
  for (const alert of alerts) {
    await eventually(async () => expect(await prometheus.firing(alert)).toEqual([]), {
      timeoutMs: 160_000,
      intervalMs: 250,
    });
  }
}

/** What an operator does whom the alert called: opens its page and runs what it says. */
async function follow(link: string, cause: string): Promise<string> {
  let printed = "";
  for (const commands of stepsOf(link, cause)) printed += await shell.run(commands);
  return printed;
}

/** Does something again and again until told to stop. */
function keep(task: () => Promise<unknown>, everyMs: number): { stop(): Promise<void> } {
  let stopped = false;
  const done = (async () => {
    while (!stopped) {
      await task().catch(() => {});
      await sleep(everyMs);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await done;
    },
  };
}

test("the rules differ from the deployed ones in their durations and in nothing else", () => {
  const deployed = projectFile("deploy/prometheus/rules.yml");
  const duration = /(?<=^ +for: )\w+$|(?<=\[)\w+(?=\])/gm;
  expect(shortened(deployed).replace(duration, "")).toBe(deployed.replace(duration, ""));
  expect(shortened("        for: 2m\n[1h]")).toBe("        for: 2000ms\n[60000ms]");
});

test("receivers that fail, events that break the contract, notices that nobody wants", async () => {
  let broken = true;
  let served = 0;
  receiver.answerWith(({ path }) => {
    // Every fourth succeeds, so that this endpoint is never disabled.
    if (path === "/mostly-fails") return { status: broken && served++ % 4 !== 3 ? 500 : 200 };
    return { status: path === "/fails" && broken ? 500 : 200 };
  });
  const [flaky, failing] = await Promise.all([organization("/mostly-fails"), organization("/fails", 12)]);
  const product = await connect(system.amqpUrl);
  const flow = keep(() => emitter.emit(event(flaky.organizationId)), 300);
  try {
    const channel = await product.createConfirmChannel();
    channel.publish(`${system.namespace}.events`, "RiskCreated", Buffer.from('{"type":"RiskCreated"}'));
    await channel.waitForConfirms();
    await emit(failing.organizationId, 6);
    await Promise.all([
      (async () => {
        const page = await fires("HeraldEndpointsDisabled");
        expect(await fires("HeraldMostAttemptsFail")).toBe(page);
        // Its owners mend the receiver, and admins resume what was disabled.
        broken = false;
        for (const id of failing.ids) await failing.edit(id, { enabled: true });
        expect(await follow(page, "receivers-fail")).toContain("500");
        await ends("HeraldMostAttemptsFail", "HeraldEndpointsDisabled");
      })(),
      (async () => {
        const page = await fires("HeraldNoticesUnrouted");
        expect(await follow(page, "no-queue")).not.toContain(`${system.namespace}.notices`);
        await channel.assertQueue("product.notices", { durable: true });
        await channel.bindQueue("product.notices", `${system.namespace}.notices`, "endpoint.*");
        expect(await follow(page, "no-queue")).toContain(`${system.namespace}.notices`);
      })(),
      (async () => {
        const page = await fires("HeraldEventsRejected");
        expect(await follow(page, "broken-events")).toContain("Discarded 1 event");
        await ends("HeraldEventsRejected");
      })(),
    ]);
  } finally {
    await flow.stop();
    await product.close();
  }
}, 600_000);

test("slow receivers, and a forgotten transaction", async () => {
  receiver.answerWith({ delayMs: 1_000 });
  const [slow, waiting] = await Promise.all([organization("/"), organization("/")]);
  const forgetful = await system.connect();
  try {
    // Due again, as after an edit, and held before a publisher can look.
    await forgetful.query("begin");
    await forgetful.query("select from webhook_endpoint where id = $1 for update", [waiting.ids[0]]);
    await forgetful.query("update webhook_endpoint set catch_up_at = now() where id = $1", [waiting.ids[0]]);
    await forgetful.query("commit and chain");
    await forgetful.query("select from webhook_endpoint where id = $1 for update", [waiting.ids[0]]);
    await emit(slow.organizationId, 300);
    await Promise.all([
      (async () => {
        const page = await fires("HeraldCatchUpStuck");
        await follow(page, "forgotten-transaction");
        await ends("HeraldCatchUpStuck");
      })(),
      (async () => {
        const page = await fires("HeraldFirstAttemptsSlow");
        await follow(page, "slow-receivers");
        await ends("HeraldFirstAttemptsSlow");
      })(),
    ]);
  } finally {
    receiver.answerWith({});
    await forgetful.end().catch(() => {});
  }
}, 600_000);

test("dispatchers that are gone, and the queue of their hints", async () => {
  const api = await organization("/");
  const another = await organization("/");
  await system.kill("dispatcher");
  await emit(api.organizationId, 3);
  // The alert is about minutes, which the delivery has not got: they are put into it.
  await eventually(async () => {
    const rows = await system.query(
      `update delivery set next_attempt_at = now() - interval '10 minutes'
       where organization_id = $1 and state = 'pending' returning id`,
      [api.organizationId],
    );
    expect(rows).toHaveLength(3);
  });
  await system.compose.exec("rabbitmq", ["rabbitmqctl", "delete_queue", `${system.namespace}.dispatch.first`]);
  const flow = keep(() => emitter.emit(event(another.organizationId)), 300);
  try {
    const [down, late, hints] = await Promise.all([
      fires("HeraldServiceDown", { service: "dispatcher" }),
      fires("HeraldDeliveriesLate"),
      fires("HeraldHintsNotSent"),
    ]);
    expect(await follow(late, "service-away")).toContain("due");
    await follow(down, "service-away");
    await follow(hints, "queue-deleted");
    await ends("HeraldServiceDown", "HeraldDeliveriesLate", "HeraldHintsNotSent");
  } finally {
    await flow.stop();
  }
  expect((await api.get(api.ids[0] ?? "")).deliveries.filter(({ succeeded }) => succeeded)).toHaveLength(3);
}, 600_000);

test("a database that is gone", async () => {
  const api = await organization("/");
  const seen = receiver.requests.length;
  await system.stopPostgres();
  const reading = keep(() => api.list(), 200);
  try {
    await emit(api.organizationId, 1_200);
    const [down, errors, pileUp] = await Promise.all([
      fires("HeraldDependencyDown", { dependency: "database" }),
      fires("HeraldApiErrors"),
      fires("HeraldEventsPileUp"),
    ]);
    await follow(down, "database-away");
    await follow(errors, "database-away");
    await follow(pileUp, "database-away");
    await ends("HeraldDependencyDown", "HeraldApiErrors", "HeraldEventsPileUp");
  } finally {
    await reading.stop();
  }
  await receiver.received(seen + 1_200, 60_000);
}, 600_000);

test("a broker that is gone", async () => {
  receiver.answerWith({ status: 500 });
  const api = await organization("/");
  await emit(api.organizationId, 1);
  await eventually(async () => expect((await api.get(api.ids[0] ?? "")).consecutiveFailures).toBeGreaterThan(0));
  await system.stopRabbitmq();
  const [down, notices] = await Promise.all([
    fires("HeraldDependencyDown", { dependency: "broker" }),
    fires("HeraldNoticesWait"),
  ]);
  receiver.answerWith({});
  await follow(down, "broker-away");
  await follow(notices, "broker-away");
  await ends("HeraldDependencyDown", "HeraldNoticesWait");
}, 600_000);

test("the product's notices got a queue, so that alert ended too", async () => {
  await ends("HeraldNoticesUnrouted");
}, 100_000);

test("every alert has fired, but for those that say why not", () => {
  const alerts = rules().flatMap(({ alert }) => (alert ? [alert] : []));
  expect([...fired, ...Object.keys(NOT_FIRED)].sort()).toEqual(alerts.sort());
});

test("every metric has had a value", async () => {
  const api = await organization("/");
  await api.deliver(api.ids[0] ?? "", "WorkItemCompleted", "{}");
  const missing: string[] = [];
  for (const name of documentedMetrics().keys()) {
    if ((await prometheus.count(`max_over_time(${name}[10m]) > 0`)) === 0) missing.push(name);
  }
  expect(missing).toEqual([]);
});
