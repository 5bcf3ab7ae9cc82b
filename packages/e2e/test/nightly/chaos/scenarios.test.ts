import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { beforeAll, expect, jest, test } from "@jest/globals";
import { passes, run, TIMEOUT_MS } from "../../support/chaos-run.ts";

// Only a RabbitMQ of one's own can be killed, so it has to be installed even if AMQP_URL names one.
// All in one file, so that no two of these run at the same time.
beforeAll(askForRabbitmqServer, STACK_TIMEOUT_MS);
jest.setTimeout(TIMEOUT_MS);

test("every service is restarted in turn under load: no attempt fails, and each delivery comes once", async () => {
  const { figures } = await passes("--scenario", "rolling-restart", "--seconds", "10", "--rate", "80");
  expect(figures).toMatchObject({ faults: { terminate: 6 }, failedAttempts: 0 });
  expect(figures.succeeded).toBe(figures.requests);
});

test("three floods, a restart of every service and two of RabbitMQ at once lose nothing, and blame no receiver", async () => {
  const { figures } = await passes("--scenario", "storm", "--seconds", "10", "--rate", "60");
  expect(Object.keys(figures.faults).sort()).toEqual(["flood", "rabbitmq-killed", "terminate"]);
});

test("PostgreSQL is silent for publishers, for longer than RabbitMQ waits for their connections, and every event arrives", async () => {
  const { figures } = await passes("--scenario", "silence", "--seconds", "10", "--rate", "20");
  expect(figures.faults).toEqual({ stall: 2, "large-bodies": 12 });
});

test("of a RabbitMQ cluster the leader is killed, and then its successor: deliveries go on within seconds, each comes once", async () => {
  const { figures } = await passes("--scenario", "cluster", "--seconds", "10", "--rate", "60");
  expect(figures.faults).toEqual({ "leader-killed": 2 });
  expect(figures.succeeded).toBe(figures.requests);
});

test("the database is put back to an earlier copy, dispatching is stopped while the same events come again, and then receivers know every delivery id that comes", async () => {
  const { figures } = await passes("--scenario", "restore", "--seconds", "10", "--rate", "60");
  expect(figures.faults).toEqual({ "database-copied": 1, "database-restored": 1, "dispatch-stopped": 1 });
  expect(figures.succeeded).toBe(figures.deliveries);
});

test("PostgreSQL fails over to its synchronous standby under load: nothing is lost, and deliveries go on", async () => {
  const { figures } = await passes("--scenario", "postgres-failover", "--seconds", "10", "--rate", "60");
  expect(figures.faults).toEqual({ "postgres-failed-over": 1 });
  expect(figures.succeeded).toBe(figures.deliveries);
});

test("pnpm chaos says how it is used, and starts nothing, where it is asked for help", async () => {
  const { code, stdout, stderr } = await run(["--help"]);
  const [usage = "", ...options] = stdout.trimEnd().split("\n");
  expect(usage).toMatch(/^pnpm chaos \[options\]: /);
  expect(options.filter((line) => line.startsWith("  --"))).toHaveLength(options.length - 1);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});
