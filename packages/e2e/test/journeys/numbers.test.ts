import { eventually } from "@herald/testkit/harness/eventually";
import { expect, test } from "@jest/globals";
import { apiClient } from "../../src/herald/api-client.ts";
import { useTestEnvironment } from "./test-environment.ts";

/** The intervals of production, which other journeys shorten. */
const INTERVALS = { DUE_SCAN_INTERVAL_SECONDS: "1", CATCH_UP_INTERVAL_SECONDS: "1" };

const environment = useTestEnvironment({ settings: { ...INTERVALS, BASE_PATH: "/tools/herald" } });

test("§8/timeout §2.2/503 §7/delivery a receiver that says nothing has 15 seconds, and is recorded as 503", async () => {
  const { api, receiver } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ fault: "hang" });
  const startedMs = performance.now();
  const summary = await api.deliver(endpoint.id, "WorkItemCompleted", "{}");
  expect(summary).toMatchObject({ statusCode: 503, succeeded: false, errorSummary: "timed out after 15 s" });
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(15_000);
});

test("§8/polling with production's intervals a retry goes out well within SPEC's minute, and what a resume wakes as well", async () => {
  const { api, receiver, emitter } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 500 });
  await emitter.emit(environment.event());
  await receiver.received(1);
  await environment.settled();
  await environment.advanceToNextAttempts(endpoint.id);
  await receiver.received(2, HALF_A_MINUTE_MS);
  await environment.settled();
  await api.edit(endpoint.id, { enabled: false });
  await environment.advanceToNextAttempts(endpoint.id);
  await eventually(async () => expect(await environment.states(endpoint.id)).toEqual({ parked: 1 }));
  await api.edit(endpoint.id, { enabled: true });
  await receiver.received(3, HALF_A_MINUTE_MS);
});

test("§4.1/prefix every management route lies behind the base path, and nowhere else", async () => {
  const { api, receiver, herald } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  await api.edit(endpoint.id, { name: "Renamed" });
  expect(await api.deliver(endpoint.id, "WorkItemCompleted", "{}")).toMatchObject({ succeeded: true });
  const withoutPath = await apiClient(herald.apiUrl, api.organizationId);
  await expect(withoutPath.list()).rejects.toThrow("answered 404");
  await api.delete(endpoint.id);
  expect(await api.list()).toEqual([]);
});

const HALF_A_MINUTE_MS = 30_000;
