import { eventually } from "@herald/dev/harness/eventually";
import { startProxy } from "@herald/dev/harness/link";
import { expect, test } from "@jest/globals";
import { type ApiClient, apiClient } from "../../src/herald/api-client.ts";
import type { ServiceProcess, ServiceProcessOptions } from "../../src/herald/processes.ts";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment({ dispatcher: false, publisher: false });

/** Small, so that one connection too many is seen. */
const POOL_SIZE = 4;

async function startServe(
  settings: Record<string, string> = {},
  options: ServiceProcessOptions = {},
): Promise<ServiceProcess> {
  return await environment.startProcess("serve", { DATABASE_POOL_SIZE: String(POOL_SIZE), ...settings }, options);
}

/** A client of the test's organization, at the API of this process. */
async function apiOf(serve: ServiceProcess): Promise<ApiClient> {
  return await apiClient(`http://127.0.0.1:${serve.port}`, environment.api.organizationId, { untilAvailable: true });
}

/** The process goes by the machine's clock. */
const eventNow = () => environment.event({ occurredAtUtc: new Date().toISOString() });

async function ask(serve: ServiceProcess, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(serve.operationsUrl + path, { headers: { connection: "close" } });
  return { status: response.status, text: await response.text() };
}

test("herald serve has one pool, three connections to the broker and one operations port for its three services", async () => {
  const { receiver, emitter, broker, db } = environment;
  // The emitter has one, and the API in this process two.
  await eventually(async () => expect(await broker.countConnections()).toBe(3));
  const serve = await startServe();
  const api = await apiOf(serve);
  const { endpoint } = await api.create({ url: receiver.url });
  await Promise.all(Array.from({ length: 40 }, () => emitter.emit(eventNow())));
  await receiver.received(40);
  expect(await api.deliver(endpoint.id, "WorkItemCompleted", "{}")).toMatchObject({ succeeded: true });

  await eventually(async () => expect(await broker.countConnections()).toBe(6));
  const connections = await db.database.prisma.$queryRaw<{ application: string; count: number }[]>`
    select application_name as application, count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name in
      ('herald-serve', 'herald-publisher', 'herald-dispatcher')
    group by application_name`;
  expect(connections).toEqual([{ application: "herald-serve", count: expect.any(Number) }]);
  // And the one of /readyz.
  expect(connections[0]?.count).toBeLessThanOrEqual(POOL_SIZE + 1);

  const readiness = await ask(serve, "/readyz");
  expect({ status: readiness.status, parts: JSON.parse(readiness.text) }).toEqual({
    status: 200,
    parts: {
      database: true,
      broker: true,
      "management-api": true,
      publisher: true,
      dispatcher: true,
      http: true,
      shards: true,
      network: true,
    },
  });

  await eventually(async () => {
    const { text } = await ask(serve, "/metrics");
    for (const line of [
      /^herald_events_total\{result="received",service="publisher"\} 40$/m,
      /^herald_attempts_total\{outcome="succeeded",service="dispatcher"\} 41$/m,
      /^herald_api_request_duration_seconds_count\{.*service="management-api".*\} \d+$/m,
      /^herald_dependency_up\{dependency="broker",service="publisher"\} 1$/m,
      /^process_resident_memory_bytes\{service="serve"\} \d+$/m,
    ]) {
      expect(text).toMatch(line);
    }
    for (const service of ["management-api", "publisher", "dispatcher", "serve"]) {
      const build = `version="\\d[^"]*",node="${process.versions.node}",service="${service}"`;
      expect(text).toMatch(new RegExp(`^herald_build_info\\{${build}\\} 1$`, "m"));
    }
    const names = [...text.matchAll(/^# HELP (\S+) /gm)].map(([, name]) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(text).not.toMatch(/^process_\w+\{service="(?!serve")/m);
  });
});

test("a stop of herald serve answers a manual delivery that is under way, settles it, and ends with 0", async () => {
  const { receiver } = environment;
  const serve = await startServe();
  const api = await apiOf(serve);
  const { endpoint } = await api.create({ url: receiver.url });
  const { promise: isTerminated, resolve: answer } = Promise.withResolvers<void>();
  receiver.answerWith(async () => {
    await isTerminated;
    return { status: 200 };
  });
  const underWay = api.deliver(endpoint.id, "WorkItemCompleted", "{}");
  await receiver.received(1);
  process.kill(serve.process.pid, "SIGTERM");
  answer();
  expect(await underWay).toMatchObject({ succeeded: true, attemptCount: 1 });
  expect((await serve.process.exited).code).toBe(0);
  expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 1 });
});

test("while the broker is away, herald serve answers and attempts what is due; when it is back, events go on", async () => {
  const { receiver, emitter, broker, db } = environment;
  const proxy = await startProxy(() => broker.url);
  const serve = await startServe({
    AMQP_URL: proxy.url,
    // Nothing comes due by itself: the test says when.
    RETRY_DELAYS_SECONDS: "3600,3600,3600,3600",
  });
  try {
    const api = await apiOf(serve);
    const { endpoint } = await api.create({ url: receiver.url });
    receiver.answerWith((_request, index) => ({ status: index === 0 ? 500 : 200 }));
    await emitter.emit(eventNow());
    await receiver.received(1);
    const failed = { endpointId: endpoint.id, attempts: 1 };
    await eventually(async () => expect(await db.database.prisma.due.count({ where: failed })).toBe(1));

    proxy.refuse();
    await eventually(async () => {
      const { status, text } = await ask(serve, "/readyz");
      expect({ status, parts: JSON.parse(text) }).toMatchObject({
        status: 503,
        parts: { broker: false, database: true, "management-api": true, publisher: true, dispatcher: true },
      });
    });
    await db.database.prisma.due.updateMany({ where: { endpointId: endpoint.id }, data: { dueAt: new Date() } });
    await receiver.received(2);
    await eventually(async () =>
      expect((await api.get(endpoint.id)).deliveries).toMatchObject([{ succeeded: true, attemptCount: 2 }]),
    );

    await emitter.emit(eventNow());
    proxy.accept();
    await serve.ready();
    await receiver.received(3);
  } finally {
    await serve.stop();
    await proxy.close();
  }
});

test("a fault that a part of herald serve can't go on with ends all of it, and says so", async () => {
  const lines: string[] = [];
  const fault = 'process.on("SIGUSR2", () => { throw new Error("a fault of one part"); });';
  const serve = await startServe(
    {},
    {
      nodeArgs: [`--import=data:text/javascript,${encodeURIComponent(fault)}`],
      onLine: (line) => lines.push(line),
    },
  );
  process.kill(serve.process.pid, "SIGUSR2");
  expect(await serve.process.exited).toEqual({ code: 1, signal: null });
  // Its last line may come after its end.
  const last = await eventually(() => JSON.parse(lines.at(-1) ?? ""));
  expect(last).toMatchObject({ level: "error", service: "serve", message: "the service failed and ends" });
  expect(last.cause).toContain("a fault of one part");
});
