import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@herald/dev/harness/eventually";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { expect, test } from "@jest/globals";
import { BUILD_TIMEOUT_MS, output, withCopy, withoutPnpm } from "../../../src/child.ts";
import { adminToken } from "../../../src/herald/api-client.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";
import { pythonPackages } from "./tools.ts";

// The examples of clients: generated from the document that a running API serves, compiled, and run against it.

const TIMEOUT_MS = STACK_TIMEOUT_MS + 3 * BUILD_TIMEOUT_MS;
const environment = useTestEnvironment();

/** Generates a client in a copy of an example's folder, and runs the walk-through. Returns what that printed. */
type Client = (folder: string, settings: Record<string, string>) => Promise<string>;

const typescript: Client = async (folder, settings) => {
  const env = await buildTypescript(folder, settings);
  return await output("npm", ["start", "--silent"], folder, env);
};

async function buildTypescript(folder: string, settings: Record<string, string>): Promise<NodeJS.ProcessEnv> {
  const env = { ...withoutPnpm(), ...settings };
  await output("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], folder, env);
  for (const script of ["generate", "build"]) await output("npm", ["run", script], folder, env);
  return env;
}

const python: Client = async (folder, settings) => {
  const { python: program, env } = await pythonPackages(join(folder, "requirements.txt"));
  const [generate = ""] = /^openapi-python-client .*$/m.exec(readFileSync(join(folder, "README.md"), "utf8")) ?? [];
  await output("bash", ["-euc", generate], folder, { ...env, ...settings });
  return await output(program, ["-B", "walk_through.py"], folder, { ...env, ...settings });
};

test.each([
  { example: "client-typescript", client: typescript },
  { example: "client-python", client: python },
])(
  "$example, generated from the served OpenAPI document, does everything that an endpoint needs",
  async ({ example, client }) => {
    const { api, clock, emitter, herald, receiver } = environment;
    const event = environment.event({ occurredAtUtc: new Date(clock.now().getTime() - 60_000).toISOString() });
    await emitter.emit(event);
    await eventually(async () => expect((await api.find(`id=${event.id}`)).events).toHaveLength(1));

    const settings = {
      HERALD: herald.apiUrl,
      TOKEN: await adminToken(api.organizationId),
      RECEIVER_URL: receiver.url,
      ENTITY_ID: event.entityId,
    };
    const printed = await withCopy(example, (folder) => client(folder, settings));

    // Python writes True and None for what is true and null in TypeScript.
    expect(printed.replaceAll("True", "true").replaceAll("None", "null").split("\n")).toEqual([
      "created Billing with a secret of 44 characters",
      "read Billing, enabled, 0 waiting",
      "listed Billing",
      "edited Billing 2",
      expect.stringMatching(/^refused 409 version_conflict: Reload the endpoint/),
      "delivered true, status 200, attempts 1",
      "history succeeded, failure null",
      "event WorkItemCompleted at Billing 2: created_later",
      "rotated true",
      "change delivered by admin: - to -",
      "change edited by admin: - to -",
      "change edited by admin: Billing to Billing 2",
      "change created by admin: - to Billing",
      "deleted 404",
    ]);
    expect(receiver.requests.map(({ body }) => body.toString())).toEqual(['{"ping": true}']);
  },
  TIMEOUT_MS,
);

test(
  "client-typescript makes endpoints be those of a list: it creates, edits and keeps them, and touches no other",
  async () => {
    const { api, herald, receiver } = environment;
    const settings = { HERALD: herald.apiUrl, TOKEN: await adminToken(api.organizationId) };
    const { endpoint: other } = await api.create({ url: receiver.url, name: "Other" });
    const [billing, reports] = ["billing", "reports"].map((name) => ({
      name,
      url: `${receiver.url}/${name}`,
      enabled: true,
      events: ["WorkItemCompleted", "RiskCreated"],
    }));
    await withCopy("client-typescript", async (folder) => {
      const env = await buildTypescript(folder, settings);
      const applied = async (list: object[]) => {
        writeFileSync(join(folder, "endpoints.json"), JSON.stringify(list));
        const printed = await output(process.execPath, ["endpoints.js"], folder, env);
        return printed.split("\n").map((line) => line.replace(/secret .{44}$/, "secret"));
      };
      expect(await applied([billing, reports] as object[])).toEqual([
        "created billing, secret",
        "created reports, secret",
      ]);
      expect(await applied([billing, { ...reports, enabled: false }] as object[])).toEqual([
        "kept billing",
        "edited reports",
      ]);
    });
    const listed = (await api.list()).map(({ name, url, enabled }) => [name, url, enabled]);
    expect(listed.sort()).toEqual([
      ["Other", other.url, true],
      ["billing", billing?.url, true],
      ["reports", reports?.url, false],
    ]);
  },
  TIMEOUT_MS,
);
