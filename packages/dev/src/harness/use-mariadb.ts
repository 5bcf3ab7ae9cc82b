import { randomBytes } from "node:crypto";
import { afterAll, beforeAll } from "@jest/globals";
import { type Connection, createConnection } from "mysql2/promise";
import { askForMariadb, STACK_TIMEOUT_MS } from "./stack-client.ts";

export interface TestMariadb {
  /** Of this test file's own database, as `mysql://`. */
  readonly url: string;
}

/**
 * Gives a test file an empty MariaDB database of its own. Call it at the top of the file or of a `describe`; its fields may be read in hooks
 * and tests.
 *
 * Afterwards it fails where connections were left open.
 */
export function useMariadb(): TestMariadb {
  const name = `herald_test_${randomBytes(6).toString("hex")}`;
  let made: { serverUrl: string; url: string } | undefined;

  beforeAll(async () => {
    const { serverUrl } = await askForMariadb();
    await withConnection(serverUrl, (connection) => connection.query(`create database ${name}`));
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    made = { serverUrl, url: url.href };
  }, STACK_TIMEOUT_MS);

  afterAll(async () => {
    if (made === undefined) return;
    const left = await withConnection(made.serverUrl, async (connection) => {
      const open = await openConnections(connection, name);
      await connection.query(`drop database ${name}`);
      return open;
    });
    if (left > 0) throw new Error(`${left} connections to the test's MariaDB database were left open. Close them.`);
  });

  return {
    get url() {
      if (made === undefined)
        throw new Error("The test database exists from beforeAll on, not while the file is loaded.");
      return made.url;
    },
  };
}

/** A connection that its pool has ended is seen for a moment longer, so a second look decides. */
async function openConnections(connection: Connection, name: string): Promise<number> {
  const deadline = Date.now() + 2_000;
  for (;;) {
    const [rows] = await connection.query("select 1 from information_schema.processlist where db = ?", [name]);
    const { length } = rows as unknown[];
    if (length === 0 || Date.now() > deadline) return length;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

async function withConnection<T>(url: string, task: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await createConnection(url);
  try {
    return await task(connection);
  } finally {
    await connection.end();
  }
}
