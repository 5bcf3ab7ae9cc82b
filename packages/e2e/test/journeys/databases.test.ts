import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { herald as runCommand } from "@herald/cli/herald";
import { openSession } from "@herald/common/database/client";
import { migrate } from "@herald/common/database/migrate";
import { certificates } from "@herald/dev/harness/certificates";
import { eventually } from "@herald/dev/harness/eventually";
import { httpsReceiver } from "@herald/dev/harness/https-receiver";
import { ODD_SETTINGS } from "@herald/dev/harness/odd-settings";
import { askForPostgres } from "@herald/dev/harness/stack-client";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useBroker } from "@herald/dev/harness/use-broker";
import { createEmitter } from "@herald/emitter";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { apiClient } from "../../src/herald/api-client.ts";
import { startHerald } from "../../src/herald/in-process.ts";
import { type HeraldEnvironment, heraldSettings } from "../../src/herald/settings.ts";
import { workItemCompleted } from "./test-environment.ts";

/** A database that people have. In its statements, `OWNER` is the user of herald migrate and of the services, and `NAME` is the database. */
interface Row {
  name: string;
  /** Of `create database`, whose owner is OWNER unless said otherwise. */
  create?: string;
  /** What an administrator has run in it before `herald migrate`, and after it. */
  before?: string;
  after?: string;
  /** The query of DATABASE_URL. */
  query?: string;
  /** What `herald migrate`, the start of a service and the doctor say; absent if they find nothing wrong. */
  migrate?: RegExp;
  start?: RegExp;
  doctor?: RegExp;
  /** Whether the commands of the remedy mend it, as an administrator runs them. */
  mends?: boolean;
}

const settings = ODD_SETTINGS.map(([name, value]) => `alter role OWNER in database NAME set ${name} = '${value}'`).join(
  ";",
);
const elsewhere = (schema: string) =>
  new RegExp(`search_path is .*, which leads to ${schema}: Herald's tables are in public\\.`);
const NOT_UTF8 = (encoding: string) => new RegExp(`encoding is ${encoding}, .* Make another database`);

const ROWS: Row[] = [
  { name: "in LATIN1", create: "encoding 'LATIN1' locale 'C'", migrate: NOT_UTF8("LATIN1") },
  { name: "with Turkish letters", create: "locale_provider icu icu_locale 'tr-TR' locale 'C'" },
  {
    name: "whose order of text has changed",
    create: "locale_provider icu icu_locale 'en-US' locale 'C'",
    after: "update pg_database set datcollversion = '1' where datname = 'NAME'",
    doctor: /^warning collation: .* order of text \(collation version 1, now .*alter database NAME refresh/,
    mends: true,
  },
  { name: "with a schema of the user's own name", before: "create schema authorization OWNER" },
  {
    name: "with a schema of the user's own name, and no default of Herald's",
    after: "create schema authorization OWNER; alter database NAME reset search_path",
    start: elsewhere("OWNER"),
    mends: true,
  },
  {
    name: "whose user has another search_path",
    before: "create schema hooks authorization OWNER; alter role OWNER in database NAME set search_path = hooks",
    start: elsewhere("hooks"),
    mends: true,
  },
  {
    name: "by a URL with another search_path",
    before: "create schema hooks authorization OWNER",
    query: "options=-csearch_path%3Dhooks",
    start: /search_path is hooks, which leads to hooks: .* Remove search_path from the options of DATABASE_URL/,
  },
  {
    name: "whose tables are in another schema",
    after: "alter schema public rename to hooks; create schema public authorization OWNER",
    migrate: /^Herald's tables are in the schema hooks, and Herald works in public alone/,
    start: /Herald's tables are in the schema hooks, and Herald works in public alone/,
    mends: true,
  },
  {
    name: "without the schema public",
    before: "drop schema public",
    migrate: /^The database NAME has no schema public, in which/,
    mends: true,
  },
  {
    name: "in which the user may make no table",
    create: "owner herald",
    before: "grant usage on schema public to OWNER",
    migrate: /^OWNER may make no tables in the schema public of the database NAME/,
    mends: true,
  },
  {
    name: "whose user may not use the schema",
    after: "alter schema public owner to herald; revoke all on schema public from public, OWNER",
    migrate: /^OWNER may not use the schema public of the database NAME/,
    start: /OWNER may not use the schema public of the database NAME/,
    mends: true,
  },
  {
    name: "whose tables another user owns",
    after: "alter table due owner to herald; delete from _prisma_migrations where migration_name ~ 'of_events$'",
    migrate: /^Herald's tables belong to herald, and OWNER may not change them\. Run it as the owner/,
  },
  {
    name: "with a publication of tables whose rows have no identity",
    after: "create publication NAME for all tables; alter table due replica identity nothing",
    doctor:
      /^fault schema: The publication NAME lets no row of due be changed or deleted.*alter table due replica identity default/,
    mends: true,
  },
  { name: "whose user has odd settings", before: settings },
];

const broker = useBroker();
const folder = mkdtempSync(join(tmpdir(), "herald-databases-"));
const caFile = join(folder, "ca.pem");
let serverUrl: URL;
beforeAll(async () => {
  writeFileSync(caFile, (await certificates()).caPem);
  serverUrl = new URL((await askForPostgres()).serverUrl);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs statements as an administrator. */
async function run(statements: string, database?: string): Promise<void> {
  const url = new URL(serverUrl);
  if (database) url.pathname = `/${database}`;
  const session = await openSession(url.href, { applicationName: "herald-test" });
  try {
    for (const statement of statements.split(";")) if (statement.trim()) await session.query(statement);
  } finally {
    await session.close();
  }
}

/** What a failed try says; an empty text if it does not fail. */
const saidBy = (task: () => Promise<unknown>) =>
  task().then(
    () => "",
    ({ message }: Error) => message,
  );

/** More than comes with a delivery's row. */
const LARGE = JSON.stringify("x".repeat(9 * 1024));

/** Starts Herald, which makes an endpoint, delivers an event at the second attempt, and answers a manual delivery. */
async function works(servers: HeraldEnvironment): Promise<void> {
  const clock = steeredClock(new Date());
  const running = await startHerald(servers, { clock, asOne: true });
  const receiver = await httpsReceiver();
  const emitter = createEmitter({ url: servers.amqpUrl, namespace: servers.namespace, timeoutMs: 60_000 });
  try {
    const api = await apiClient(running.apiUrl, undefined, { untilAvailable: true });
    const { endpoint } = await api.create({ url: receiver.url, name: "Zürich €" });
    receiver.answerWith((_request, index) => ({ status: index < 1 ? 500 : 200 }));
    await emitter.emit(workItemCompleted(api.organizationId, clock.now()));
    const delivery = async () => (await api.get(endpoint.id)).deliveries[0];
    await eventually(async () => expect(await delivery()).toMatchObject({ attemptCount: 1, statusCode: 500 }));
    clock.advance(600_000);
    await eventually(async () => expect(await delivery()).toMatchObject({ attemptCount: 2, succeeded: true }));
    for (const payload of ['"Zürich €"', LARGE]) {
      expect(await api.deliver(endpoint.id, "WorkItemCompleted", payload)).toMatchObject({ succeeded: true });
    }
    const { deliveries } = await api.get(endpoint.id);
    expect(deliveries).toHaveLength(3);
    for (const { statusCode, errorSummary, attemptedAtUtc } of deliveries) {
      expect({ statusCode, errorSummary }).toEqual({ statusCode: 200, errorSummary: null });
      expect(Math.abs(Date.parse(attemptedAtUtc ?? "") - clock.now().getTime())).toBeLessThan(60_000);
    }
  } finally {
    await emitter.close();
    await receiver.close();
    await running.stop();
  }
}

/** The faults and warnings of the doctor about PostgreSQL, each with its remedy. */
async function complaints(servers: HeraldEnvironment): Promise<string[]> {
  let output = "";
  await runCommand(["doctor", "--json"], {
    // The checks of RabbitMQ take longer.
    environment: { ...heraldSettings(servers), AMQP_URL: "amqp://127.0.0.1:1" },
    stdout: (text) => {
      output += text;
    },
    stderr: () => {},
  });
  const { findings } = JSON.parse(output) as { findings: Record<"status" | "check" | "what" | "remedy", string>[] };
  return findings
    .filter(
      ({ status, check }) =>
        ["fault", "warning"].includes(status) && ["PostgreSQL", "collation", "schema"].includes(check),
    )
    .map(({ status, check, what, remedy }) => `${status} ${check}: ${what} ${remedy}`);
}

test.each(ROWS)("a database $name works, or is refused in words that mend it", async (row) => {
  const id = randomBytes(4).toString("hex");
  const [name, owner] = [`herald_d_${id}`, `herald_u_${id}`];
  const named = (text: string) => text.replaceAll("OWNER", owner).replaceAll("NAME", name);
  const said = (pattern: RegExp | undefined) =>
    pattern ? expect.stringMatching(new RegExp(named(pattern.source))) : "";
  const url = Object.assign(new URL(serverUrl), {
    username: owner,
    password: "x",
    pathname: `/${name}`,
    search: row.query ?? "",
  });
  const servers = { databaseUrl: url.href, amqpUrl: broker.url, namespace: `${broker.namespace}.${id}`, caFile };
  const mend = async (...texts: string[]) => {
    const [, ...commands] = texts.join(" ").split("`");
    await run(commands.filter((_, index) => index % 2 === 0).join(";"), name);
  };
  await run(`create role ${owner} login password 'x'`);
  const created = /^owner/.test(row.create ?? "") ? "" : `owner ${owner}`;
  await run(`create database ${name} template template0 ${created} ${row.create ?? ""}`);
  try {
    await run(named(row.before ?? ""), name);
    if (row.after) {
      await migrate(url.href);
      await run(named(row.after), name);
    }
    if (!row.after || !row.start || row.migrate) {
      const refused = await saidBy(() => migrate(url.href));
      expect(refused).toEqual(said(row.migrate));
      if (row.migrate && !row.mends) return;
      if (row.migrate && row.mends && !row.start) {
        await mend(refused);
        await migrate(url.href);
      }
    }
    const found = await complaints(servers);
    expect(found).toEqual(row.start || row.doctor ? [said(row.doctor ?? row.start)] : []);
    if (row.start) expect(await saidBy(() => works(servers))).toEqual(said(row.start));
    if (row.start && !row.mends) return;
    if (found.length > 0) {
      await mend(...found);
      expect(await complaints(servers)).toEqual([]);
    }
    await works(servers);
  } finally {
    await run(`drop database ${name} with (force)`);
    await run(`drop role ${owner}`);
  }
});
