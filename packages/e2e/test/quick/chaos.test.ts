import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { beforeAll, expect, test } from "@jest/globals";
import { passes, TIMEOUT_MS } from "../support/chaos-run.ts";

// Only a RabbitMQ of one's own can be killed, so it has to be installed even if AMQP_URL names one.
beforeAll(askForRabbitmqServer, STACK_TIMEOUT_MS);

/**
 * Within fifteen seconds: RabbitMQ killed, both dispatchers frozen at once, one of them killed again and again, a publisher killed and its clock set,
 * PostgreSQL crashed, the table of deliveries locked for longer than a statement may take, channels of RabbitMQ that hang, the name server dead, no
 * receiver in reach, one restarted, and a crowd that is slow. All the time a transaction stays open. `pnpm chaos --seed 9002 --seconds 15` shows the same.
 */
test(
  "§4.4.10 whatever is killed, cut or frozen: nothing is lost, changed or unending, and what comes twice has a reason",
  async () => {
    const { figures } = await passes("--seed", "9002", "--seconds", "15", "--rate", "80");
    expect(figures.faults).toMatchObject({
      ...{ "postgres-crashed": 1, "rabbitmq-killed": 1, kill: 1, frozen: 1, "crash-loop": 1, "slow-crowd": 1 },
      ...{ hang: 1, "silent-client": 1, "table-lock": 1, "long-transaction": 1 },
      ...{ "receiver-restarts": 1, "resolver-dead": 1, "no-route": 1, clock: 1 },
    });
    expect(figures.confirmed).toBe(figures.events);
    expect(figures.succeeded).toBeGreaterThan(500);
  },
  TIMEOUT_MS,
);
