import { expect, test } from "@jest/globals";
import { apiClient } from "../../../src/herald/api-client.ts";
import { peakOf, SERVE_MEBIBYTES } from "../../../src/herald/readings.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";
import { unitEnvironment } from "../operations/project-files.ts";

const ENDPOINTS = 5;
const ROUNDS = 50;
const EVENTS_A_ROUND = 10;

const environment = useTestEnvironment({ dispatcher: false, publisher: false });

/** The settings of the unit that decide how much is held in memory at once. */
function memorySettings(): Record<string, string> {
  const decides = /^(DATABASE_POOL_SIZE|MEMORY_MIB)$/;
  return Object.fromEntries(Object.entries(unitEnvironment()).filter(([name]) => decides.test(name)));
}

test("herald serve stays under 200 MiB while events, manual deliveries and an admin's reads go on, as its unit starts it", async () => {
  const { receiver, emitter } = environment;
  const serve = await environment.startProcess("serve", memorySettings());
  const { organizationId } = environment.api;
  const api = await apiClient(`http://127.0.0.1:${serve.port}`, organizationId, { untilAvailable: true });
  const endpoints = [];
  for (let index = 0; index < ENDPOINTS; index++) {
    endpoints.push((await api.create({ url: `${receiver.url}/${index}` })).endpoint);
  }
  let expected = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const occurredAtUtc = new Date().toISOString();
    const events = Array.from({ length: EVENTS_A_ROUND }, () =>
      environment.event({ occurredAtUtc, data: { text: "x".repeat(1_000) } }),
    );
    await Promise.all(events.map((event) => emitter.emit(event)));
    const endpoint = endpoints[round % ENDPOINTS] as (typeof endpoints)[number];
    expected += EVENTS_A_ROUND * ENDPOINTS;
    // The API of the environment is at work too, so this one allows 30 in a minute.
    if (round % 2 === 0) {
      await api.deliver(endpoint.id, "WorkItemCompleted", "{}");
      expected += 1;
    }
    await api.list();
    await receiver.received(expected);
  }
  const peak = peakOf(serve.process.pid);
  process.stderr.write(`herald serve: ${peak.toFixed()} MiB at its peak; its limit is ${SERVE_MEBIBYTES} MiB\n`);
  expect(peak).toBeLessThan(SERVE_MEBIBYTES);
}, 600_000);
