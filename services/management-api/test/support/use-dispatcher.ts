import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Broker, connectBroker } from "@herald/common/broker/broker";
import type { Service } from "@herald/common/service/run-service";
import type { Hint } from "@herald/contracts";
import { startDispatcher } from "@herald/dispatcher";
import { certificates } from "@herald/testkit/harness/certificates";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { afterAll, beforeAll } from "@jest/globals";
import { attemptRequester } from "../../src/deliveries/request-attempt.ts";
import { SECRET_KEYS } from "./use-api.ts";

export interface TestDispatcher {
  /** For {@link useApi}. */
  requestAttempt: (hint: Hint) => Promise<void>;
  start(databaseUrl: string): Promise<void>;
  stop(): Promise<void>;
}

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Gives a test file a way to a real dispatcher over a real RabbitMQ. It trusts and may reach the test receivers. */
export function useDispatcher({ timeoutMs = 20_000 }: { timeoutMs?: number } = {}): TestDispatcher {
  const folder = mkdtempSync(join(tmpdir(), "herald-api-test-"));
  let connection: Broker;
  let request: (hint: Hint) => Promise<void>;
  let dispatcher: Service | undefined;

  // Jest runs these in the order in which they were given: connections end before the broker looks for any that are left.
  afterAll(async () => {
    await dispatcher?.stop();
    await connection?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const broker = useBroker();
  beforeAll(() => {
    connection = connectBroker({ url: broker.url, namespace: broker.namespace, name: "test-api", log: quiet });
    request = attemptRequester(connection, { timeoutMs });
  });

  return {
    requestAttempt: (hint) => request(hint),
    async start(databaseUrl) {
      const caFile = join(folder, "ca.pem");
      writeFileSync(caFile, (await certificates()).caPem);
      dispatcher = await startDispatcher({
        DATABASE_URL: databaseUrl,
        AMQP_URL: broker.url,
        BROKER_NAMESPACE: broker.namespace,
        SECRET_KEYS,
        ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8",
        EXTRA_CA_FILE: caFile,
        HTTP_HOST: "127.0.0.1",
        OPERATIONS_PORT: "0",
        LOG_LEVEL: "error",
        ATTEMPT_TIMEOUT_SECONDS: "2",
      });
      await connection.ready();
    },
    async stop() {
      await dispatcher?.stop();
      dispatcher = undefined;
    },
  };
}
