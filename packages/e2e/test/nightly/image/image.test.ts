import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { certificates } from "@herald/dev/harness/certificates";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { projectFolder } from "@herald/dev/stack/folders";
import { DEVELOPMENT_AUDIENCE, DEVELOPMENT_ISSUER } from "@herald/dev/start/development-token";
import { createEmitter } from "@herald/emitter";
import { createOutbox, outboxTable } from "@herald/emitter/outbox";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { parse } from "yaml";
import { apiClient } from "../../../src/herald/api-client.ts";
import { JWT_SECRET } from "../../../src/herald/settings.ts";
import { workItemCompleted } from "../../journeys/test-environment.ts";
import { projectFile } from "../operations/project-files.ts";
import {
  type Container,
  type Image,
  makeRootFileSystem,
  readDockerfile,
  runInImage,
  startInImage,
} from "./container.ts";

// No Docker engine: the image's files are assembled as the Dockerfile does it, and its programs run on them as it says. What
// only Docker could show is in "What has been run, and what has not" of docs/operating/deploy.md.
const ASSEMBLE_TIMEOUT_MS = 600_000;

interface ComposeService {
  image: string;
  command?: string[];
  environment: Record<string, string>;
}
const { services } = parse(projectFile("docker-compose.yml"), { merge: true }) as {
  services: Record<string, ComposeService>;
};
const own = Object.entries(services).filter(([, { image }]) => image === "herald");
const serviceOf = (name: string) => services[name] as ComposeService;
const commandOf = (name: string) => serviceOf(name).command ?? [];

const folder = mkdtempSync(join(tmpdir(), "herald-image-"));
const config = readDockerfile();
const image: Image = { root: join(folder, "root"), config };
const running: Container[] = [];
const SERVICES = ["api", "publisher", "dispatcher"];
// Without any table: the image's own migration makes them.
const db = useDatabase({ migrated: false });
const broker = useBroker();
let receiver: HttpsReceiver;
/** As a build leaves it of a source that is deleted later. */
const left = join(projectFolder(), "services/publisher/dist/tasks/left.js");

beforeAll(async () => {
  const keys = newSealingKeys("image");
  writeFileSync(left, "");
  await makeRootFileSystem(image.root, config, {
    ...Object.fromEntries(["owner", "app", ...SERVICES].map((user) => [`${user}-database-url`, db.url])),
    "herald-amqp-url": broker.url,
    "api-amqp-url": broker.serviceUrls["management-api"],
    "publisher-amqp-url": broker.serviceUrls.publisher,
    "dispatcher-amqp-url": broker.serviceUrls.dispatcher,
    "secret-keys": keys.SECRET_KEYS,
    "sealing-key": keys.SECRET_SEALING_KEY,
    "auth-jwt-secret": JWT_SECRET,
    "receivers-ca.pem": (await certificates()).caPem,
  });
  receiver = await httpsReceiver();
}, ASSEMBLE_TIMEOUT_MS);
afterEach(async () => {
  await Promise.all(running.splice(0).map((container) => container.stop()));
});
afterAll(async () => {
  await receiver?.close();
  for (const each of [folder, left]) rmSync(each, { recursive: true, force: true });
});

/** The settings of the Compose file, with the receiver of this test, which is on the loopback, allowed. */
function environmentOf(...names: string[]): Record<string, string> {
  const all: Record<string, string> = Object.assign({}, ...names.map((name) => serviceOf(name).environment));
  const { OTEL_EXPORTER_OTLP_ENDPOINT: _, ...environment } = all;
  return {
    ...environment,
    HERALD_ENV: "development",
    AUTH_ISSUER: DEVELOPMENT_ISSUER,
    AUTH_AUDIENCE: DEVELOPMENT_AUDIENCE,
    HTTP_HOST: "127.0.0.1",
    BROKER_NAMESPACE: broker.namespace,
    ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8",
    EXTRA_CA_FILE: "/run/secrets/receivers-ca.pem",
  };
}

async function start(args: string[], environment: Record<string, string>): Promise<Container> {
  const container = await startInImage(image, args, environment);
  running.push(container);
  return container;
}

test("the image's entry point is herald, and it has the commands that the Compose file and the Dockerfile's examples name", async () => {
  const examples = [...projectFile("deploy/docker/Dockerfile").matchAll(/^# +docker run herald (\S+)/gm)];
  expect(examples).toHaveLength(4);
  const commands = [...own.map(([, { command = [] }]) => command[0]), ...examples.map(([, command]) => command)];
  const help = await runInImage(image, ["help"], {});
  for (const command of new Set(commands)) {
    if (command !== "help") expect(help).toContain(`\n  ${command} `);
  }
});

test("the image holds no compiled code, so that it runs on another base than it was built on, no sources, no tests, nothing of deleted sources and no link to nowhere", () => {
  const app = join(image.root, config.workingFolder);
  const files = readdirSync(app, { recursive: true, encoding: "utf8" });
  expect(files.length).toBeGreaterThan(1_000);
  expect(files.filter((file) => /\.(node|so|dll|dylib)$/.test(file))).toEqual([]);
  expect(files.filter((file) => !existsSync(join(app, file)))).toEqual([]);
  const ofHerald = files.filter((file) => /^(packages|services)\//.test(file) && !file.includes("node_modules/"));
  expect(ofHerald.filter((file) => /\.tsx?$|\.tsbuildinfo$|\.test\.js$|\/left\.js$/.test(file))).toEqual([]);
});

test("a program of the image is the user of the Dockerfile, in no other group, has no capability, and can write nowhere", async () => {
  expect(config).toMatchObject({
    copied: { from: "/app", to: "./" },
    workingFolder: "/app",
    user: { uid: 1000, gid: 1000 },
  });
  const script = `
    const fs = require("node:fs");
    const problem = (file) => { try { fs.writeFileSync(file, ""); return "written"; } catch (error) { return error.code; } };
    const status = fs.readFileSync("/proc/self/status", "utf8");
    console.log(JSON.stringify({
      uid: process.getuid(), gid: process.getgid(), groups: process.getgroups(), folder: process.cwd(), env: process.env.NODE_ENV,
      capabilities: /CapEff:\\t(.*)/.exec(status)[1], newPrivileges: /NoNewPrivs:\\t(.*)/.exec(status)[1],
      writes: ["/app/x", "/app/packages/cli/dist/main.js", "/tmp/x", "/etc/x", "/run/secrets/x"].map(problem),
    }));`;
  expect(
    JSON.parse(await runInImage({ ...image, config: { ...config, entrypoint: ["node"] } }, ["--eval", script], {})),
  ).toEqual({
    uid: 1000,
    gid: 1000,
    groups: [1000],
    folder: "/app",
    env: "production",
    capabilities: "0000000000000000",
    newPrivileges: "1",
    writes: ["EROFS", "EROFS", "EROFS", "EROFS", "EROFS"],
  });
});

test("with the Compose file's commands and settings the image migrates, its three services are ready, and an event arrives", async () => {
  expect(await runInImage(image, commandOf("migrate"), environmentOf("migrate"))).toMatch(/appl/i);
  const [api] = await Promise.all(
    ["management-api", "publisher", "dispatcher"].map((name) => start(commandOf(name), environmentOf(name))),
  );
  const admin = await apiClient(`http://127.0.0.1:${api?.port}`);
  const { endpoint } = await admin.create({ url: receiver.url });
  const emitter = createEmitter({ url: broker.url, namespace: broker.namespace });
  try {
    await emitter.emit(workItemCompleted(admin.organizationId));
  } finally {
    await emitter.close();
  }
  await eventually(async () => {
    expect((await admin.get(endpoint.id)).deliveries).toMatchObject([{ succeeded: true, attemptCount: 1 }]);
  });
  expect(await admin.deliver(endpoint.id, "WorkItemCompleted", "{}")).toMatchObject({ succeeded: true });
});

test("herald serve and herald relay of the image are ready, and what stands in an outbox arrives", async () => {
  // Settings of all three, and the users of the one process that does the work of all.
  const serve = await start(["serve"], environmentOf("management-api", "publisher", "dispatcher", "herald"));
  const admin = await apiClient(`http://127.0.0.1:${serve.port}`);
  await admin.create({ url: `${receiver.url}/outbox` });
  const client = new pg.Client({ connectionString: db.url });
  await client.connect();
  try {
    await client.query(outboxTable());
    await client.query("begin");
    await createOutbox().add(client, workItemCompleted(admin.organizationId));
    await client.query("commit");
  } finally {
    await client.end();
  }
  await start(["relay"], {
    ...environmentOf("herald"),
    OUTBOX_DATABASE_URL_FILE: "/run/secrets/app-database-url",
  });
  await eventually(() => expect(receiver.requests.map(({ path }) => path)).toContain("/outbox"));
});
