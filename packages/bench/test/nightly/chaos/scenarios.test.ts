import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { beforeAll, expect, test } from "@jest/globals";
import { newestRelease } from "../../../src/chaos/version-before.ts";
import { passes, TIMEOUT_MS } from "../../support/chaos-run.ts";

/** A version is built for it: once, some minutes. */
const UPGRADE_TIMEOUT_MS = 2_400_000;

// Only a RabbitMQ of one's own can be killed, so it has to be installed even where AMQP_URL or Docker would give one.
// All in one file, so that no two of these run at the same time.
beforeAll(askForRabbitmqServer, STACK_TIMEOUT_MS);

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
  "the database is put back to an earlier copy, attempts are held while the same events come again, and then receivers know every delivery id that comes",
  async () => {
    const { figures } = await passes("--scenario", "restore", "--seconds", "10", "--rate", "60");
    expect(figures.faults).toEqual({ "database-copied": 1, "database-restored": 1, "attempts-held": 1 });
    expect(figures.succeeded).toBe(figures.deliveries);
  },
  TIMEOUT_MS,
);

// Before the first release, and in a clone without tags, there is only this commit: it is built from git all the same, and what runs here are
// the changes that are not committed.
test(
  "the newest release, or else this commit, works beside the code that is here, there and back: no attempt fails, and each delivery comes once",
  async () => {
    const baseline = (await newestRelease()) ?? "HEAD";
    const options = ["--baseline", baseline, "--seconds", "10", "--rate", "80"];
    const { figures } = await passes("--scenario", "upgrade", ...options);
    expect(figures).toMatchObject({ faults: { migrated: 1, upgraded: 6, "rolled-back": 6 }, failedAttempts: 0 });
    expect(figures.succeeded).toBe(figures.requests);
  },
  UPGRADE_TIMEOUT_MS,
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
  "two Heralds share a broker, one of them is killed and comes back: each has the events of its own organizations alone",
  async () => {
    const { figures } = await passes("--scenario", "cells", "--seconds", "8", "--rate", "60");
    expect(figures.faults).toEqual({ kill: 3 });
    expect(figures.succeeded).toBe(figures.deliveries);
  },
  TIMEOUT_MS,
);

test(
  "a cell is split by its PostgreSQL's standby: nothing is lost, nothing comes twice, and each side has its own alone",
  async () => {
    const { figures } = await passes("--scenario", "split", "--seconds", "8", "--rate", "60");
    expect(figures.faults).toEqual({ "cell-split": 1 });
    expect(figures.succeeded).toBe(figures.requests);
  },
  TIMEOUT_MS,
);
