import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askForMariadbPrograms } from "@herald/dev/harness/stack-client";
import { startMariadb } from "@herald/dev/stack/mariadb";
import { startPostgres } from "@herald/dev/stack/postgres";
import { outboxTable } from "@herald/emitter/outbox";
import { createPool, type Pool } from "mysql2/promise";
import pg from "pg";

/** A database that a test kills. */
export interface KillableDatabase {
  /** Where it is now: its port changes when it is started again. */
  url(): string;
  /** Opens the test's own connections, through something that does not move. */
  open(url: string): void;
  /** Makes an outbox, and events in it that are numbered in `data`; their organizations and their entities take turns. */
  fill(rows: number, entities: number): Promise<void>;
  countSent(): Promise<number>;
  /** Ends it without a word to its clients, and with nothing written down; then starts it again. */
  killAndStart(): Promise<void>;
  close(): Promise<void>;
  remove(): Promise<void>;
}

interface KillableDatabaseKind {
  name: string;
  rows: number;
  start(folder: string): Promise<KillableDatabase>;
}

/** Whose events {@link KillableDatabase.fill} makes. */
export const ORGANIZATIONS = Array.from({ length: 50 }, (_, index) => `org-${index}`);

export const KILLABLE_DATABASES: readonly KillableDatabaseKind[] = [
  { name: "PostgreSQL", rows: 50_000, start: startKillablePostgres },
  { name: "MariaDB", rows: 5_000, start: startKillableMariadb },
];

async function startKillablePostgres(folder: string): Promise<KillableDatabase> {
  const options = { folder: join(folder, "postgres"), pidFolder: join(folder, "pids"), disposable: true };
  let server = await startPostgres(options);
  let pool: pg.Pool | undefined;
  const query = async (sql: string, values: unknown[] = []) => {
    const answer = await pool?.query(sql, values);
    return answer?.rows ?? [];
  };
  return {
    url: () => server.url,
    open(url) {
      pool = new pg.Pool({ connectionString: url });
      pool.on("error", () => undefined);
    },
    async fill(rows, entities) {
      await query(outboxTable());
      await query(
        `insert into herald_outbox (event)
         select json_build_object(
           'organizationId', 'org-' || n % ${ORGANIZATIONS.length}, 'id', gen_random_uuid(), 'type', 'RiskCreated',
           'occurredAtUtc', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'entityType', 'Risk', 'entityId', md5((n % $2)::text)::uuid, 'data', json_build_object('number', n))::text
         from generate_series(1, $1::int) as n`,
        [rows, entities],
      );
    },
    async countSent() {
      const [row] = await query("select count(*)::int as sent from herald_outbox where sent_at is not null");
      return row.sent;
    },
    async killAndStart() {
      // What "immediate" means: no session is ended, nothing is written down.
      process.kill(server.process.pid, "SIGQUIT");
      await server.process.exited;
      server = await startPostgres(options);
    },
    close: async () => await pool?.end(),
    remove: () => server.remove(),
  };
}

async function startKillableMariadb(folder: string): Promise<KillableDatabase> {
  // Of its own: the server's user may not enter the other one.
  const options = { folder: mkdtempSync(join(tmpdir(), "herald-outbox-mariadb-")), pidFolder: join(folder, "pids") };
  const programs = await askForMariadbPrograms();
  let server = await startMariadb(programs, options);
  let pool: Pool | undefined;
  const query = async (sql: string, values: unknown[] = []) => {
    const answer = await pool?.query(sql, values);
    return answer?.[0] as { sent: number }[];
  };
  return {
    url: () => server.url,
    open(url) {
      pool = createPool(url);
    },
    async fill(rows, entities) {
      await query(outboxTable("herald_outbox", "mysql"));
      await query(
        `insert into herald_outbox (event)
         select json_object(
           'organizationId', concat('org-', seq % ${ORGANIZATIONS.length}), 'id', uuid(), 'type', 'RiskCreated',
           -- In milliseconds: of an event that occurred before the endpoint was made, the endpoint hears nothing.
           'occurredAtUtc', concat(left(date_format(utc_timestamp(3), '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z'),
           'entityType', 'Risk', 'entityId', concat('00000000-0000-4000-8000-', lpad(seq % ?, 12, '0')),
           'data', json_object('number', seq))
         from seq_1_to_${rows}`,
        [entities],
      );
    },
    async countSent() {
      const [row] = await query("select count(*) as sent from herald_outbox where sent_at is not null");
      return Number(row?.sent);
    },
    async killAndStart() {
      process.kill(server.process.pid, "SIGKILL");
      await server.process.exited;
      server = await startMariadb(programs, options);
    },
    close: async () => await pool?.end(),
    remove: () => server.remove(),
  };
}
