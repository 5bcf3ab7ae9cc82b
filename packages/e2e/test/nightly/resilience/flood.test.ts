import { eventually } from "@herald/dev/harness/eventually";
import { httpsReceiver } from "@herald/dev/harness/https-receiver";
import { expect, test } from "@jest/globals";
import { apiClient } from "../../../src/herald/api-client.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

const FLOOD = 2_000;
const QUIET = 50;

const environment = useTestEnvironment({ settings: { ATTEMPT_TIMEOUT_SECONDS: "60" } });

// How late the quiet organization's events are is a row of `pnpm bench`. Here no clock decides.
test("while one organization's flood of 2,000 deliveries can't be sent, another one's events all arrive, and none of either is lost", async () => {
  const { receiver, emitter, herald, api } = environment;
  const flooding = await apiClient(herald.apiUrl, undefined, { untilAvailable: true });
  const { organizationId } = flooding;
  const flooded = await httpsReceiver();
  try {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    flooded.answerWith(async () => {
      await answered;
      return {};
    });
    const quiet = await api.create({ url: receiver.url });
    const { endpoint } = await flooding.create({ url: flooded.url });
    const floodEvents = Array.from({ length: FLOOD }, () => environment.event({ organizationId }));
    const quietEvents = Array.from({ length: QUIET }, () => environment.event());
    const perQuietEvent = FLOOD / QUIET;
    // In the inbox the quiet organization's events stand among those of the flood.
    await Promise.all(
      quietEvents.flatMap((event, index) =>
        [...floodEvents.slice(index * perQuietEvent, (index + 1) * perQuietEvent), event].map((each) =>
          emitter.emit(each),
        ),
      ),
    );

    await eventually(async () => expect(await environment.outcomes(quiet.endpoint.id)).toEqual({ succeeded: QUIET }), {
      timeoutMs: 60_000,
    });
    expect(idsOf(receiver.requests)).toEqual(quietEvents.map(({ id }) => id).sort());
    await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ waiting: FLOOD }), {
      timeoutMs: 60_000,
    });

    answer();
    await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: FLOOD }), {
      timeoutMs: 180_000,
    });
    expect(idsOf(flooded.requests)).toEqual(floodEvents.map(({ id }) => id).sort());
  } finally {
    await flooded.close();
  }
}, 360_000);

function idsOf(requests: readonly { body: Buffer }[]): string[] {
  return requests.map(({ body }) => JSON.parse(body.toString()).id as string).sort();
}
