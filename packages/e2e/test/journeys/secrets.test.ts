import { eventually } from "@herald/dev/harness/eventually";
import { afterEach, expect, test } from "@jest/globals";
import { apiClient } from "../../src/herald/api-client.ts";
import { type ServiceName, type ServiceProcess, startServiceProcess } from "../../src/herald/processes.ts";
import { heraldSettings } from "../../src/herald/settings.ts";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment({ dispatcher: false, publisher: false });
const processes: ServiceProcess[] = [];

afterEach(async () => {
  await Promise.all(processes.splice(0).map((each) => each.stop()));
});

test("§7/secrets at the most talkative log level, no secret, token, payload or receiver's word is printed, nor is one in the metrics", async () => {
  const { receiver, emitter, servers } = environment;
  const settings: Record<string, string> = { ...heraldSettings(servers), LOG_LEVEL: "debug" };
  const lines: string[] = [];
  async function start(name: ServiceName): Promise<ServiceProcess> {
    const started = await startServiceProcess(name, settings, { onLine: (line) => lines.push(line) });
    processes.push(started);
    return started;
  }
  const [managementApi] = [await start("management-api"), await start("publisher"), await start("dispatcher")];
  const api = await apiClient(`http://127.0.0.1:${managementApi?.port}`, environment.api.organizationId, {
    untilAvailable: true,
  });

  const url = `${receiver.url}/hooks?token=url-marker`;
  const { endpoint, signingSecret } = await api.create({ url, name: "name-marker" });
  const replaced = await api.edit(endpoint.id, { rotateSecret: true });
  receiver.answerWith(({ body }) => ({ status: body.includes("bad") ? 500 : 200, body: "answer-marker" }));
  // These processes have the system's clock.
  const occurredAtUtc = new Date().toISOString();
  for (const text of ["payload-marker bad", "payload-marker good"]) {
    await emitter.emit(environment.event({ occurredAtUtc, data: { text } }));
  }
  await api.deliver(endpoint.id, "WorkItemCompleted", '"payload-marker bad"');
  await expect(api.deliver(endpoint.id, "WorkItemCompleted", "payload-marker")).rejects.toThrow("answered 400");
  await expect(api.create({ url: "https://user:url-marker@example.com" })).rejects.toThrow("answered 400");
  await fetch(`http://127.0.0.1:${managementApi?.port}/api/organization/integration-operations/webhooks`, {
    headers: { authorization: "Bearer token-marker", connection: "close" },
  });
  await receiver.received(3);
  await eventually(() => {
    const text = lines.join("\n");
    expect(text).toContain("attempt failed");
    expect(text).toContain("attempt succeeded");
  });

  const metrics = await Promise.all(
    processes.map(async ({ operationsUrl }) =>
      (await fetch(`${operationsUrl}/metrics`, { headers: { connection: "close" } })).text(),
    ),
  );
  const printed = [...lines, ...metrics].join("\n");
  const [, key = ""] = (settings.SECRET_KEYS ?? "").split(":");
  const secrets = [signingSecret, replaced.signingSecret, key, settings.AUTH_JWT_SECRET, "Bearer", "eyJ"];
  const markers = ["url-marker", "payload-marker", "answer-marker", "token-marker"];
  for (const secret of [...secrets, ...markers]) {
    expect(secret).toEqual(expect.stringMatching(/.{3}/));
    expect(printed.split("\n").filter((line) => line.includes(secret as string))).toEqual([]);
  }
}, 60_000);
