import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

// Nothing listens there.
const away = useTestEnvironment({ settings: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" } });

test("a collector that is away holds up no delivery, and no stop", async () => {
  const { api, receiver, emitter, herald } = away;
  await api.create({ url: receiver.url });
  await emitter.emit(away.event());
  await eventually(() => expect(receiver.requests).toHaveLength(1));
  await away.settled();
  await herald.stop();
});
