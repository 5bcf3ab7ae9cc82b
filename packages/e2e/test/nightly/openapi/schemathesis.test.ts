import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { EVENT_TYPES } from "@herald/contracts";
import { insertDelivery } from "@herald/dev/harness/rows";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { runToEnd } from "@herald/dev/stack/programs";
import { afterAll, expect, test } from "@jest/globals";
import { BUILD_TIMEOUT_MS } from "../../../src/child.ts";
import { adminToken } from "../../../src/herald/api-client.ts";
import { type ServiceProcess, startServiceProcess } from "../../../src/herald/processes.ts";
import { heraldSettings } from "../../../src/herald/settings.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";
import { pythonPackages } from "./tools.ts";

const HERE = fileURLToPath(new URL("./", import.meta.url));
const PREFIX = "/api/organization/integration-operations";
/** Some four minutes, and much more on a slow machine. */
const TIMEOUT_MS = STACK_TIMEOUT_MS + 4 * BUILD_TIMEOUT_MS;

/** The parts of the OpenAPI document that this test reads. */
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { parameters: Record<string, Parameter> };
}

interface Operation {
  operationId: string;
  parameters?: (Parameter | { $ref: string })[];
}

interface Parameter {
  name: string;
  in: string;
  schema: object;
  example?: string;
}

const environment = useTestEnvironment({ dispatcher: false, publisher: false });
const folder = mkdtempSync(join(tmpdir(), "herald-schemathesis-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test(
  "schemathesis finds no server error, and nothing beyond the OpenAPI document, in any operation",
  async () => {
    const { python, env, commands } = await pythonPackages(join(HERE, "schemathesis.txt"));
    const history = await makeHistory();
    const api = await startApi();
    try {
      const origin = `http://127.0.0.1:${api.port}`;
      const served = await fetch(`${origin}/openapi.json`, { headers: { connection: "close" } });
      const document = (await served.json()) as Document;
      const file = join(folder, "openapi.json");
      // The lists are closed for what this Herald takes today.
      const closed = JSON.stringify(withKnownIds(document, history)).replaceAll('"x-extensible-enum"', '"enum"');
      writeFileSync(file, closed);

      const command = [join(commands, "schemathesis"), "--config-file", join(HERE, "schemathesis.toml"), "run", file];
      const { code, stdout, stderr } = await runToEnd(python, [...command, "--url", origin + PREFIX, "--no-color"], {
        cwd: folder,
        env: {
          ...env,
          PYTHONPATH: `${env.PYTHONPATH}:${HERE}`,
          PYTHONDONTWRITEBYTECODE: "1",
          SCHEMATHESIS_HOOKS: "formats",
          TOKEN: await adminToken(environment.api.organizationId),
        },
      });
      if (code !== 0) throw new Error(`schemathesis found something (exit code ${code}):\n${stdout}${stderr}`);

      expect(stdout).toMatch(/✅ Examples\s+✅ Coverage\s+✅ Fuzzing\s+✅ Stateful\s/);
      // Requests that were all refused would show nothing.
      const requests = await servedRequests(api);
      const succeeded = new Set(requests.filter(({ status }) => status < 300).map(({ operation }) => operation));
      const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
      expect(operations.map(({ operationId }) => operationId).filter((id) => !succeeded.has(id))).toEqual([]);
      expect(requests.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(2_000);
      expect(requests.filter(({ status }) => status >= 500)).toEqual([]);
    } finally {
      await api.stop();
    }
  },
  TIMEOUT_MS,
);

/** Ids that exist, by the path parameter that takes them. */
type KnownIds = Partial<Record<string, string[]>>;

interface History {
  known: KnownIds;
  /** Where an operation takes others, so that what one does to an endpoint leaves those of the others as they are. */
  byOperation: Partial<Record<string, KnownIds>>;
}

/** Makes endpoints with deliveries of each kind by a whole Herald, whose other services then end: nothing more is sent. */
async function makeHistory(): Promise<History> {
  const { api, emitter, herald, receiver } = environment;
  await herald.startPublisher();
  await herald.startDispatcher();
  const subscribed = [...EVENT_TYPES];
  const create = async (name: string) => (await api.create({ name, url: receiver.url, events: subscribed })).endpoint;
  const [billing, payroll] = [await create("Billing"), await create("Payroll")];
  const [editable, deletable] = [await create("Editable"), await create("Deletable")];
  await emitter.emit(environment.event());
  await receiver.received(4);
  await api.deliver(billing.id, "WorkItemCompleted", '{"ping": true}');
  receiver.answerWith({ status: 500, body: "sorry" });
  const failing = environment.event();
  await emitter.emit(failing);
  await receiver.received(9);
  await environment.settled();
  const [missing, resent] = [await endpointThatMissed(), await endpointThatMissed()];
  const resend = await api.call<{ id: string }>("POST", `/${resent}/resends`, {});
  // The examples of the document have the version of a new endpoint: with it, one that was learned from a list would be deleted.
  for (const id of [billing.id, missing, resent]) await api.edit(id, {});
  await api.edit(payroll.id, { enabled: false });
  await herald.stopAdditional();

  const { deliveries } = await api.read<{ deliveries: { id: string }[] }>(`/${billing.id}/deliveries`);
  const { events } = await api.find(`entityId=${failing.entityId}`);
  const [ids, key] = [deliveries.map(({ id }) => id), events.map((event) => event.key)];
  return {
    known: { id: [billing.id, payroll.id], deliveryId: ids, key, resendId: [resend.id] },
    byOperation: {
      editWebhook: { id: [editable.id] },
      deleteWebhook: { id: [deletable.id] },
      deliverManually: { id: [billing.id] },
      readDelivery: { id: [billing.id] },
      startResend: { id: [missing] },
      readResend: { id: [resent] },
      stopResend: { id: [resent] },
    },
  };
}

/** An endpoint with a delivery that was given up, without the quarter of an hour that this takes. */
async function endpointThatMissed(): Promise<string> {
  const { api, clock, db, receiver } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  const createdAt = clock.now();
  const answer = { statusCode: 410, errorSummary: "the receiver answered 410", failureKind: "http_status" } as const;
  const ended = { state: "exhausted", attemptCount: 5, attemptedAt: createdAt, durationMs: 12, ...answer } as const;
  const receiving = { id: endpoint.id, organizationId: api.organizationId };
  await insertDelivery(db.database.prisma, receiving, { ...ended, createdAt });
  return endpoint.id;
}

/** As a process of its own, so that its metrics say what it served. */
function startApi(): Promise<ServiceProcess> {
  const settings = {
    ...heraldSettings(environment.servers),
    WRITES_PER_MINUTE: "1000000",
    MANUAL_DELIVERIES_PER_MINUTE: "1000000",
    MAX_ENDPOINTS: "10000",
  };
  // Nobody makes attempts.
  return startServiceProcess("management-api", settings, { tuning: { manualTimeoutMs: 100 } });
}

/** Puts ids that exist beside the random ones that path parameters take: of those the API knows none. */
function withKnownIds(document: Document, { known: everywhere, byOperation }: History): Document {
  const copy = structuredClone(document);
  for (const operation of Object.values(copy.paths).flatMap((each) => Object.values(each))) {
    const ids: KnownIds = { ...everywhere, ...byOperation[operation.operationId] };
    operation.parameters = (operation.parameters ?? []).map((each) => {
      const parameter = "$ref" in each ? referenced(document, each.$ref) : each;
      const own = parameter.in === "path" ? ids[parameter.name] : undefined;
      if (own === undefined) return each;
      const known = { type: "string", enum: own };
      // It would also delete ids that it learned from answers, and that other operations read.
      const schema = operation.operationId === "deleteWebhook" ? known : { anyOf: [known, parameter.schema] };
      return { ...parameter, example: own[0] ?? "", schema };
    });
  }
  return copy;
}

function referenced({ components }: Document, reference: string): Parameter {
  const parameter = components.parameters[reference.replace("#/components/parameters/", "")];
  if (parameter === undefined) throw new Error(`The document has no ${reference}.`);
  return parameter;
}

async function servedRequests({
  operationsUrl,
}: ServiceProcess): Promise<{ operation: string; status: number; count: number }[]> {
  const metrics = await (await fetch(`${operationsUrl}/metrics`, { headers: { connection: "close" } })).text();
  const line = /^herald_api_request_duration_seconds_count\{(.*)\} (\d+)$/gm;
  return [...metrics.matchAll(line)].map(([, labels = "", count]) => ({
    operation: /operation="(\w+)"/.exec(labels)?.[1] ?? "",
    status: Number(/status="(\d+)"/.exec(labels)?.[1]),
    count: Number(count),
  }));
}
