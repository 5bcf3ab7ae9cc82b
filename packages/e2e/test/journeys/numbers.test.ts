import { eventually } from "@herald/testkit/harness/eventually";
import { describe, expect, test } from "@jest/globals";
import { apiClient } from "../../src/herald/api-client.ts";
import { useJourney } from "./test-environment.ts";

describe("as it comes", () => {
  const journey = useJourney({ settings: { RETRY_INTERVAL_SECONDS: "1", CATCH_UP_INTERVAL_SECONDS: "1" } });

  test("§8/timeout §2.2/503 §7/delivery a receiver that says nothing has 15 seconds, and is recorded as 503", async () => {
    const { api, receiver } = journey;
    const { endpoint } = await api.create({ url: receiver.url });
    receiver.answerWith({ fault: "hang" });
    const startedMs = performance.now();
    const summary = await api.deliver(endpoint.id, "WorkItemCompleted", "{}");
    const tookMs = performance.now() - startedMs;
    expect(summary).toMatchObject({ statusCode: 503, succeeded: false, errorSummary: "timed out after 15 s" });
    expect(tookMs).toBeGreaterThanOrEqual(15_000);
    expect(tookMs).toBeLessThan(18_000);
  });

  test("§8/polling a retry goes out within two seconds of its time, and what a resume wakes as well", async () => {
    const { api, receiver, emitter, clock } = journey;
    const { endpoint } = await api.create({ url: receiver.url });
    receiver.answerWith({ status: 500 });
    await emitter.emit(journey.event());
    await receiver.received(1);
    await journey.settled();
    clock.advance(61_000);
    await receiver.received(2, 2_000);
    await journey.settled();
    await api.edit(endpoint.id, { enabled: false });
    clock.advance(121_000);
    await eventually(async () => expect(await journey.states(endpoint.id)).toEqual({ parked: 1 }));
    await api.edit(endpoint.id, { enabled: true });
    await receiver.received(3, 3_500);
  });
});

describe("under a base path", () => {
  const journey = useJourney({ settings: { BASE_PATH: "/tools/herald" } });

  test("§4.1/prefix every management route lies behind it, and nowhere else", async () => {
    const { apiUrl } = journey.herald;
    const behind = await apiClient(`${apiUrl}/tools/herald`);
    const { endpoint } = await behind.create({ url: journey.receiver.url });
    await behind.edit(endpoint.id, { name: "Renamed" });
    expect(await behind.deliver(endpoint.id, "WorkItemCompleted", "{}")).toMatchObject({ succeeded: true });
    await expect(journey.api.list()).rejects.toThrow("answered 404");
    await behind.delete(endpoint.id);
    expect(await behind.list()).toEqual([]);
  });
});
