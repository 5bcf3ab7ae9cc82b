import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

/** The intervals of production, which other journeys shorten. */
const INTERVALS = { sweepIntervalMs: 1_000, catchUpIntervalMs: 1_000 };

const environment = useTestEnvironment({ tuning: INTERVALS });

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

const HALF_A_MINUTE_MS = 30_000;
