import { execFile } from "node:child_process";
import { join } from "node:path";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { projectFolder } from "@herald/testkit/stack/folders";
import { beforeAll, expect, test } from "@jest/globals";

const COMMAND = join(projectFolder(), "packages", "e2e", "dist", "commands", "chaos.js");
/** Of a machine that other tests keep busy. */
const TIMEOUT_MS = 400_000;

// Only a RabbitMQ of one's own can be killed, so it has to be installed even where AMQP_URL or Docker would give one.
// All in one file, so that no two of these run at the same time.
beforeAll(askForRabbitmqServer, STACK_TIMEOUT_MS);

/**
 * Within fourteen seconds: PostgreSQL crashed, a receiver restarted, a dispatcher killed again and again and a service once, the name
 * server dead, a service frozen, the clock of another one's machine set, and RabbitMQ killed; and all the time an endpoint's row is
 * held and a transaction stays open. `pnpm chaos --seed 30599 --seconds 14` shows the same.
 */
test(
  "§4.4.10 whatever is killed, cut or frozen: nothing is lost, changed or unending, and what comes twice has a reason",
  async () => {
    const { figures } = await passes("--seed", "30599", "--seconds", "14", "--rate", "80");
    expect(figures.faults).toMatchObject({
      ...{ "postgres-crashed": 1, "rabbitmq-killed": 1, kill: 1, freeze: 1 },
      ...{ "crash-loop": 1, "row-lock": 1, "long-transaction": 1 },
      ...{ "receiver-restarts": 1, "resolver-dead": 1, clock: 1 },
    });
    expect(figures.confirmed).toBe(figures.events);
    expect(figures.succeeded).toBeGreaterThan(500);
  },
  TIMEOUT_MS,
);

test(
  "of a RabbitMQ cluster the leader is killed, and then its successor: deliveries go on within seconds, each comes once",
  async () => {
    const { figures } = await passes("--scenario", "cluster", "--seconds", "10", "--rate", "60");
    expect(figures.faults).toEqual({ "leader-killed": 2 });
    expect(figures.succeeded).toBe(figures.requests);
  },
  TIMEOUT_MS,
);

test(
  "every service is restarted in turn under load: no attempt fails, and each delivery comes once",
  async () => {
    const { figures } = await passes("--scenario", "rolling-restart", "--seconds", "10", "--rate", "80");
    expect(figures).toMatchObject({ faults: { terminate: 6 }, failedAttempts: 0 });
    expect(figures.succeeded).toBe(figures.requests);
  },
  TIMEOUT_MS,
);

test(
  "the database is put back to an earlier copy, attempts are held while the same events come again, and then receivers know every delivery id that comes",
  async () => {
    const { figures } = await passes("--scenario", "restore", "--seconds", "10", "--rate", "60");
    expect(figures.faults).toEqual({ "database-copied": 1, "database-restored": 1, "attempts-held": 1 });
    expect(figures.succeeded).toBe(figures.deliveries);
  },
  TIMEOUT_MS,
);

test(
  "PostgreSQL fails over to its synchronous standby under load: nothing is lost, and deliveries go on",
  async () => {
    const { figures } = await passes("--scenario", "postgres-failover", "--seconds", "10", "--rate", "60");
    expect(figures.faults).toEqual({ "postgres-failed-over": 1 });
    expect(figures.succeeded).toBe(figures.deliveries);
  },
  TIMEOUT_MS,
);

test(
  "a region is lost: its replica, copies by federation and the outbox make the second one whole, and nothing is lost",
  async () => {
    const { figures } = await passes("--scenario", "second-region", "--seconds", "8", "--rate", "60");
    expect(figures.faults).toEqual({ "region-lost": 1, "attempts-held": 1 });
    expect(figures.succeeded).toBe(figures.deliveries);
  },
  TIMEOUT_MS,
);

test(
  "two Heralds share a broker, one of them is killed and comes back, and takes a bucket: each has the events of its own organizations alone",
  async () => {
    const { figures } = await passes("--scenario", "cells", "--seconds", "8", "--rate", "60");
    expect(figures.faults).toEqual({ kill: 3, "bucket-moved": 1 });
    expect(figures.succeeded).toBe(figures.deliveries);
  },
  TIMEOUT_MS,
);

test("pnpm chaos says how it is used, and starts nothing, where it is asked for help", async () => {
  const { code, stdout, stderr } = await run(["--help"]);
  const [usage = "", ...options] = stdout.trimEnd().split("\n");
  expect(usage).toMatch(/^pnpm chaos \[options\]: /);
  expect(options.filter((line) => line.startsWith("  --"))).toHaveLength(options.length - 1);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

interface Report {
  passed: boolean;
  figures: Record<string, number> & { faults: Record<string, number> };
}

/** Runs the command and expects it to find nothing. */
async function passes(...options: string[]): Promise<Report> {
  const { code, stdout, stderr } = await run([...options, "--disposable", "--json"]);
  if (!stdout.startsWith("{")) throw new Error(`The run ended with ${code} and no report:\n${stderr}`);
  const report = JSON.parse(stdout) as Report;
  expect({ code, ...report }).toMatchObject({
    code: 0,
    passed: true,
    complaints: [],
    verdict: {
      lost: 0,
      wronglyExhausted: 0,
      tooManyAttempts: 0,
      afterDisabling: 0,
      forged: 0,
      untimely: 0,
      unending: 0,
      unexplainedDuplicates: 0,
      wronglyDisabled: 0,
      disabledForOurFault: 0,
      disabledByRestart: 0,
      crashed: 0,
    },
  });
  return report;
}

function run(options: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [COMMAND, ...options], (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}
