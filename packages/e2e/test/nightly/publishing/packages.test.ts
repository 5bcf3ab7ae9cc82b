import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EVENT_TYPES } from "@herald/contracts";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { projectFolder } from "@herald/dev/stack/folders";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { output, withoutPnpm } from "../../../src/child.ts";
import { entriesOf, LIBRARIES, packPackages } from "../../support/pack.ts";
import { SAME, SERVICE, SERVICE_TEST } from "./service.ts";

/** The blocks of ```ts of a package's README, in their order, its imports apart from the rest. */
function blocksOf(name: string): { imports: string; code: string }[] {
  const readme = readFileSync(join(projectFolder(), "packages", name, "README.md"), "utf8");
  return [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => {
    const lines = block.split("\n");
    const isImport = (line: string) => line.startsWith("import ");
    return {
      imports: lines.filter(isImport).join("\n"),
      code: lines.filter((line) => !isImport(line)).join("\n"),
    };
  });
}

function block(name: string, containing: string): { imports: string; code: string } {
  const found = blocksOf(name).find(({ imports, code }) => `${imports}\n${code}`.includes(containing));
  if (found === undefined) throw new Error(`The README of ${name} has no example with ${containing}.`);
  return found;
}

const emit = block("emitter", "createEmitter(");
const outbox = block("emitter", "createOutbox(");

/** Runs the README's examples, and prints what came to the exchange. What the README takes for granted is made here. */
const EMITTER_EXAMPLE = `
${emit.imports}
${outbox.imports}
import { randomUUID } from "node:crypto";
import { connect } from "amqplib";
import pg from "pg";

const broker = await connect(process.env.AMQP_URL ?? "");
const channel = await broker.createChannel();
await channel.assertExchange("herald.events", "topic", { durable: true });
const { queue } = await channel.assertQueue("", { exclusive: true });
await channel.bindQueue(queue, "herald.events", "#");
const seen: unknown[] = [];
const both = new Promise<void>((resolve) => {
  void channel.consume(queue, (message) => {
    if (message !== null) seen.push(JSON.parse(message.content.toString()));
    if (seen.length === 2) resolve();
  }, { noAck: true });
});

const organizationId = "organization-1";
const workItem = { id: randomUUID() };
${emit.code}
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
await pool.query("create table work_item (id uuid, status text)");
const client = await pool.connect();
const id = workItem.id;
const event = newEvent({ organizationId, type: "WorkItemCompleted", entityType: "WorkItem", entityId: id, data: {} });
${outbox.code}
client.release();
await both;
console.log(JSON.stringify(seen));
await relay.close();
await emitter.close();
await pool.end();
await broker.close();
`;

const receive = block("receiver", "await saveToInbox");
const core = block("receiver", "verdict");
const once = block("receiver", "on conflict do nothing");
const typed = block("receiver", "readEvent(");

/** The same for the receiver: prints how requests were answered, and what was written down. */
const RECEIVER_EXAMPLE = `
${receive.imports}
${core.imports.replace("{ verify }", "{ sign, verify }")}
${typed.imports}
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import pg from "pg";

const app = express();
const saved: unknown[] = [];
const saveToInbox = async (event: string | null, _payload: unknown) => void saved.push(event);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
await pool.query("create table inbox (event_id uuid primary key, event jsonb)");
let refused: unknown;

${receive.code}
${once.code}
function byHand(request: IncomingMessage, rawBytes: Buffer, secret: string) {
  const reject = (reason: string, _message: string) => void (refused = reason);
  ${core.code}
}
async function act(webhook: { payload: unknown }) {
  const completeWorkItem = async (_id: string, _status: string | null | undefined) => {};
  ${typed.code}
}
app.post("/core", express.raw({ type: "*/*" }), (request, response) => {
  byHand(request, request.body, "another secret");
  response.sendStatus(204);
});

const server = app.listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const origin = \`http://127.0.0.1:\${(server.address() as AddressInfo).port}\`;
const body = JSON.stringify({ id: randomUUID(), type: "WorkItemCompleted", occurredAtUtc: new Date().toISOString(),
  entityType: "WorkItem", entityId: randomUUID(), data: {} });
const timestamp = Math.floor(Date.now() / 1000);
async function post(path: string, secret: string): Promise<number> {
  const headers = {
    "content-type": "application/json; charset=utf-8", connection: "close",
    "x-service-timestamp": String(timestamp),
    "x-service-signature": sign(secret, timestamp, Buffer.from(body)),
    "x-service-event": "WorkItemCompleted", "x-service-delivery-id": randomUUID(),
  };
  return (await fetch(origin + path, { method: "POST", headers, body })).status;
}
const statuses = [
  await post("/hooks", "a secret"), await post("/hooks", "a wrong secret"),
  await post("/orders", "a secret"), await post("/orders", "a secret"),
];
await post("/core", "a secret");
const { rows: [{ count }] } = await pool.query("select count(*)::int as count from inbox");
console.log(JSON.stringify({ statuses, saved, inbox: count, refused }));
server.close();
await pool.end();
`;

// The packages that others install, as they would get them: packed, installed by npm into an empty folder, used as their
// READMEs say.

/** For packing, installing and compiling on a slow machine with cold caches. */
const INSTALL_TIMEOUT_MS = 900_000;
/** For a consumer's jest: on a busy machine its own deadline of five seconds is too short. */
const PATIENT = ["--testTimeout", "180000"];

const broker = useBroker();
const db = useDatabase({ migrated: false });
const folder = mkdtempSync(join(tmpdir(), "herald-consumer-"));
const packed = join(folder, "packed");
const consumer = join(folder, "consumer");
/** Projects as npm makes them, with the TypeScript that most projects have. */
const projects = { commonjs: join(folder, "commonjs"), module: join(folder, "module") };
/** The last one that finds packages as Node did before `exports`. */
const TYPESCRIPT = "typescript@5.9.3";
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (cwd: string, command: string, args: string[], env?: NodeJS.ProcessEnv) => output(command, args, cwd, env);

function versionOf(dependency: string): string {
  const catalog = readFileSync(join(projectFolder(), "pnpm-workspace.yaml"), "utf8");
  return new RegExp(`^ +"?${dependency}"?: (\\S+)$`, "m").exec(catalog)?.[1] ?? "";
}

beforeAll(async () => {
  mkdirSync(consumer);
  const tarballs = await packPackages(packed);
  const others = ["express", "pg", "typescript", "@types/node", "@types/express", "@types/pg"];
  writeFileSync(join(consumer, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
  const wanted = [...tarballs, ...others.map((name) => `${name}@${versionOf(name)}`)];
  await run(consumer, "npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", ...wanted], withoutPnpm());
  writeFileSync(
    join(consumer, "tsconfig.json"),
    JSON.stringify({
      // Declarations are checked too: they are part of what is published.
      compilerOptions: {
        module: "NodeNext",
        target: "ES2022",
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        types: ["node"],
        outDir: "out",
        rootDir: ".",
      },
      include: ["*.ts"],
    }),
  );
  writeFileSync(join(consumer, "emits.ts"), EMITTER_EXAMPLE);
  writeFileSync(join(consumer, "receives.ts"), RECEIVER_EXAMPLE);
  await makeProjects(tarballs);
}, INSTALL_TIMEOUT_MS);

/** By `npm init -y`; the ES modules' project is the same with one more line in its package.json. */
async function makeProjects(tarballs: string[]): Promise<void> {
  const { commonjs, module } = projects;
  mkdirSync(commonjs);
  await run(commonjs, "npm", ["init", "-y"], withoutPnpm());
  const named = ["jest", "@jest/globals", "@types/node"];
  const others = named.map((name) => `${name}@${versionOf(name)}`);
  const quiet = ["--no-audit", "--no-fund", "--prefer-offline"];
  await run(commonjs, "npm", ["install", ...quiet, ...tarballs, TYPESCRIPT, ...others], withoutPnpm());
  writeFileSync(join(commonjs, "service.ts"), SERVICE);
  writeFileSync(join(commonjs, "service.test.ts"), SERVICE_TEST);
  writeFileSync(join(commonjs, "same.cjs"), SAME);
  cpSync(commonjs, module, { recursive: true });
  await run(commonjs, "npm", ["pkg", "set", "type=commonjs"], withoutPnpm());
  await run(module, "npm", ["pkg", "set", "type=module"], withoutPnpm());
}

test(
  "the published packages' declarations and READMEs type-check and compile at a consumer's",
  async () => {
    await run(consumer, "node_modules/.bin/tsc", ["-p", "."], withoutPnpm());
  },
  INSTALL_TIMEOUT_MS,
);

test("the emitter's README works: events reach the exchange, directly and by the outbox", async () => {
  const env = { ...withoutPnpm(), AMQP_URL: broker.url, DATABASE_URL: db.url };
  const seen = JSON.parse(await run(consumer, process.execPath, ["out/emits.js"], env)) as { type: string }[];
  expect(seen.map(({ type }) => type)).toEqual(["WorkItemCompleted", "WorkItemCompleted"]);
});

test("the receiver's README works: it verifies, refuses and accepts once", async () => {
  const env = { ...withoutPnpm(), DATABASE_URL: db.url, WEBHOOK_SECRET: "a secret" };
  expect(JSON.parse(await run(consumer, process.execPath, ["out/receives.js"], env))).toEqual({
    statuses: [204, 401, 204, 204],
    saved: ["WorkItemCompleted"],
    inbox: 1,
    refused: "signature_mismatch",
  });
});

test("npx --no -- herald-listen runs the installed command, as the documents write it", async () => {
  // --no fetches nothing: it is the one that is installed here.
  const help = await run(consumer, "npx", ["--no", "--", "herald-listen", "check", "--help"], withoutPnpm());
  expect(help).toContain("herald-listen check --url URL");
  expect(await run(consumer, "node_modules/.bin/herald-listen", ["--help"], withoutPnpm())).toContain(
    "herald-listen [--url URL",
  );
});

test("require and import give the very same in Node, so that an error of one is an error of the other", async () => {
  const installed = join(consumer, "node_modules", "@herald");
  const entries = LIBRARIES.flatMap((name) =>
    entriesOf(join(installed, name)).map((entry) => entry.replace(".", `@herald/${name}`)),
  );
  expect(entries).toContain("@herald/emitter/outbox");
  const same = JSON.parse(await run(projects.commonjs, process.execPath, ["same.cjs", ...entries], withoutPnpm()));
  expect(same).toEqual(Object.fromEntries(entries.map((entry) => [entry, true])));
});

test("the JSON Schema of each event is in the package of contracts, for require and for validators of files", async () => {
  const names = EVENT_TYPES.flatMap((type) => [`events/${type}`, `requests/${type}`]);
  const program = `for (const name of process.argv.slice(1)) console.log(require("@herald/contracts/schemas/" + name + ".json").$id)`;
  for (const project of Object.values(projects)) {
    const ids = await run(project, process.execPath, ["--input-type=commonjs", "-e", program, ...names], withoutPnpm());
    expect(ids.trim().split("\n")).toEqual(names.map((name) => `urn:herald:schemas:${name.replace("/", ":")}`));
  }
});

test.each<[keyof typeof projects, string, NodeJS.ProcessEnv]>([
  ["commonjs", "commonjs", {}],
  ["module", "nodenext", { NODE_OPTIONS: "--experimental-vm-modules" }],
])(
  "a service of type %s tests its events with jest",
  async (type, module, env) => {
    const resolution = module === "commonjs" ? "node10" : module;
    const project = projects[type];
    await run(project, "node_modules/.bin/tsc", [
      ...["--module", module, "--moduleResolution", resolution, "--target", "es2022", "--types", "node"],
      ...["--strict", "--skipLibCheck", "--outDir", "out", "service.ts", "service.test.ts"],
    ]);
    await run(project, "node_modules/.bin/jest", ["--rootDir", "out", ...PATIENT], { ...withoutPnpm(), ...env });
  },
  INSTALL_TIMEOUT_MS,
);
