import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { migrationsFolder } from "@herald/common/database/migrations";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { eventually } from "@herald/dev/harness/eventually";
import { startLink } from "@herald/dev/harness/link";
import { useOwnPostgres } from "@herald/dev/harness/own-postgres";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { useBroker } from "@herald/dev/harness/use-broker";
import { projectFolder } from "@herald/dev/stack/folders";
import { freePort } from "@herald/dev/stack/ports";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";

// The likeliest mistakes of a first day, as an operator sees them: what `herald serve` prints, and how it ends.

const postgres = useOwnPostgres();
const broker = useBroker();
const taken = createServer();
let takenPort = 0;
let child: ChildProcess | undefined;

const MIGRATIONS =
  "create table _prisma_migrations (migration_name text, checksum text, finished_at timestamptz, rolled_back_at timestamptz)";

beforeAll(async () => {
  takenPort = await portOf(taken);
  for (const name of ["empty", "other"]) await postgres.run(`create database ${name}`, "postgres");
  await postgres.run(MIGRATIONS, "other");
  await postgres.run("grant select on _prisma_migrations to public", "other");
  const applied = (await readdir(migrationsFolder()))
    .filter((name) => /^\d/.test(name))
    .map((name) => `('${name}', 'of another file', now(), null)`);
  await postgres.run(`insert into _prisma_migrations values ${applied.join()}`, "other");
}, STACK_TIMEOUT_MS);
afterEach(() => void child?.kill("SIGKILL"));
afterAll(() => void taken.close());

async function portOf(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as { port: number }).port;
}

const changed = (url: string, change: Partial<URL>) => Object.assign(new URL(url), change).href;
const database = (name: string) => ({ DATABASE_URL: postgres.url("herald_app", name) });

// The same for all, since processes compare them.
const KEYS = newSealingKeys("k1");

/** Starts `herald serve`. */
function serve(change: Record<string, string>) {
  const settings = {
    PATH: process.env.PATH,
    HERALD_ENV: "development",
    DATABASE_URL: postgres.url(),
    AMQP_URL: broker.url,
    BROKER_NAMESPACE: broker.namespace,
    HTTP_HOST: "127.0.0.1",
    PORT: "0",
    OPERATIONS_PORT: "0",
    AUTH_JWT_SECRET: "do-not-show".repeat(4),
    AUTH_ISSUER: "i",
    AUTH_AUDIENCE: "a",
    ...KEYS,
  };
  const main = join(projectFolder(), "packages", "cli", "dist", "main.js");
  const running = spawn(process.execPath, ["--enable-source-maps", main, "serve"], { env: { ...settings, ...change } });
  child = running;
  let text = "";
  for (const stream of [running.stdout, running.stderr])
    stream.setEncoding("utf8").on("data", (more: string) => {
      text += more;
    });
  let code: number | null | undefined;
  const ended = once(running, "close").then(([exitCode]) => {
    code = exitCode;
  });
  return {
    /** Without the line that only a busy machine causes. */
    lines: () => text.split("\n").filter((line) => line !== "" && !line.includes("this process stood still")),
    written: (words: RegExp) => eventually(() => expect(text).toMatch(words), { timeoutMs: 60_000 }),
    /** Resolves with its exit code. @throws with what it wrote, if it goes on */
    ended: () =>
      eventually(
        () => {
          if (code === undefined) throw new Error(`It goes on:\n${text}`);
          return code;
        },
        { timeoutMs: 60_000 },
      ),
    async stop() {
      running.kill("SIGTERM");
      await ended;
      return code;
    },
  };
}

/** How long it is watched that nothing more is written. */
const SILENCE_MS = 4_000;

test.each<[string, () => Record<string, string>, number, RegExp]>([
  ["a database without tables", () => database("empty"), 78, /lacks (\d+) of \1 migrations: .*Run `herald migrate`/],
  ["a database of another version", () => database("other"), 78, /20261120000000_init was applied with another text/],
  ["no such database", () => database("nowhere"), 78, /"nowhere" does not exist.*correct its name in DATABASE_URL/],
  [
    "a wrong password of PostgreSQL",
    () => ({ DATABASE_URL: changed(postgres.url(), { password: "do-not-show-either" }) }),
    78,
    /PostgreSQL at 127\.0\.0\.1:\d+ refuses this user.*Correct user and password in DATABASE_URL/,
  ],
  [
    "a wrong password of RabbitMQ",
    () => ({ AMQP_URL: changed(broker.url, { password: "do-not-show-either" }) }),
    78,
    /RabbitMQ at 127\.0\.0\.1:\d+ refuses this user.*Correct user and password in AMQP_URL/,
  ],
  [
    "no such virtual host",
    () => ({ AMQP_URL: changed(broker.url, { pathname: "/nowhere" }) }),
    78,
    /refuses the virtual host nowhere.*Correct the virtual host in AMQP_URL/,
  ],
  ["a taken PORT", () => ({ PORT: String(takenPort) }), 78, /PORT is \d+, where another program listens/],
  [
    "a taken OPERATIONS_PORT",
    () => ({ OPERATIONS_PORT: String(takenPort) }),
    78,
    /OPERATIONS_PORT is \d+, where another program listens/,
  ],
  ["an address of another machine", () => ({ HTTP_HOST: "192.0.2.1" }), 78, /HTTP_HOST is 192\.0\.2\.1, which is no/],
  ["a key without its id", () => ({ SECRET_KEYS: "do-not-show" }), 78, /SECRET_KEYS: pair 1 has no id/],
  [
    "PostgreSQL is not started yet",
    () => ({ DATABASE_URL: "postgres://herald_app:do-not-show@127.0.0.1:1/herald" }),
    0,
    /PostgreSQL: down.*Nothing listens at 127\.0\.0\.1:1.*DATABASE_URL/,
  ],
  [
    "RabbitMQ is not started yet",
    () => ({ AMQP_URL: "amqp://herald:do-not-show@127.0.0.1:1" }),
    0,
    /RabbitMQ: down.*Nothing listens at 127\.0\.0\.1:1.*AMQP_URL/,
  ],
])(
  "%s: the start says what to do, in five lines at most",
  async (_, change, code, words) => {
    const herald = serve(change());
    let lines: string[];
    if (code === 0) {
      await herald.written(/"started"/);
      await herald.written(words);
      await sleep(SILENCE_MS);
      lines = herald.lines();
      expect(await herald.stop()).toBe(code);
    } else {
      expect([await herald.ended(), herald.lines()]).toEqual([code, expect.any(Array)]);
      lines = herald.lines();
    }
    const text = lines.join("\n");
    expect(text).toMatch(words);
    expect([lines.length <= 5, text]).toEqual([true, text]);
    expect(text).not.toMatch(/do-not-show|\\n +at |^ +at /m);
  },
  STACK_TIMEOUT_MS,
);

test(
  "PostgreSQL that goes away is one line, and one when it is back",
  async () => {
    const target = new URL(postgres.url());
    let isOpen = true;
    const link = await startLink(() => (isOpen ? [target] : []));
    const url = changed(target.href, { host: `127.0.0.1:${link.port}` });
    const operationsPort = String(await freePort());
    const herald = serve({ DATABASE_URL: url, OPERATIONS_PORT: operationsPort });
    try {
      await eventually(
        async () =>
          expect(
            (await fetch(`http://127.0.0.1:${operationsPort}/readyz`, { headers: { connection: "close" } })).ok,
          ).toBe(true),
        { timeoutMs: 60_000 },
      );
      const before = herald.lines().length;
      isOpen = false;
      link.cut();
      await herald.written(/PostgreSQL: down/);
      await sleep(SILENCE_MS);
      isOpen = true;
      await herald.written(/PostgreSQL: back/);
      await sleep(SILENCE_MS);
      expect(
        herald
          .lines()
          .slice(before)
          .map((line) => JSON.parse(line).message),
      ).toEqual(["PostgreSQL: down; trying again until it is back", "PostgreSQL: back"]);
    } finally {
      await herald.stop();
      await link.close();
    }
  },
  STACK_TIMEOUT_MS,
);
