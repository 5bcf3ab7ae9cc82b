import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { eventually } from "@herald/dev/harness/eventually";
import { projectFolder } from "@herald/dev/stack/folders";
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

test("without a collector nothing of OpenTelemetry's SDK is loaded", () => {
  const program = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
    await import(${JSON.stringify(join(projectFolder(), "packages/cli/dist/serve/start-serve.js"))});
    console.log(JSON.stringify(loaded));`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  const loaded = JSON.parse(printed) as string[];
  expect(loaded.some((url) => url.includes("/service/open-process.js"))).toBe(true);
  // prom-client loads the API, which does nothing by itself.
  expect(loaded.filter((url) => /@opentelemetry\/(?!api\/)/.test(url))).toEqual([]);
});
