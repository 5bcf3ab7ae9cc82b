import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { beforeAll, expect, test } from "@jest/globals";
import { passes, TIMEOUT_MS } from "../support/chaos-run.ts";

// Only a RabbitMQ of one's own can be killed, so it has to be installed even if AMQP_URL names one.
beforeAll(askForRabbitmqServer, STACK_TIMEOUT_MS);

/**
 * Within fourteen seconds: PostgreSQL crashed, a receiver restarted, a dispatcher killed again and again and a publisher once, the other
 * dispatcher frozen for three times as long as an owner lives without a heartbeat, the name server dead, the clock of a machine set,
 * RabbitMQ killed, and then both dispatchers frozen at once. All the time an endpoint's row is locked, and a transaction stays open.
 * `pnpm chaos --seed 411 --seconds 14` shows the same.
 */
test(
  "§4.4.10 whatever is killed, cut or frozen: nothing is lost, changed or unending, and what comes twice has a reason",
  async () => {
    const { figures } = await passes("--seed", "411", "--seconds", "14", "--rate", "80");
    expect(figures.faults).toMatchObject({
      ...{ "postgres-crashed": 1, "rabbitmq-killed": 1, kill: 1, freeze: 1, frozen: 1 },
      ...{ "crash-loop": 1, "row-lock": 1, "long-transaction": 1 },
      ...{ "receiver-restarts": 1, "resolver-dead": 1, clock: 1 },
    });
    expect(figures.confirmed).toBe(figures.events);
    expect(figures.succeeded).toBeGreaterThan(500);
  },
  TIMEOUT_MS,
);
