import { randomUUID } from "node:crypto";
import pg from "pg";
import { SAMPLE_BODY } from "./sample-body.ts";

const ROWS_A_STATEMENT = 250;
const STATEMENTS_AT_ONCE = 2;

/** Rows a second that PostgreSQL takes in statements like a fan-out's, into one table with nothing but a primary key. */
export async function bareInsertsPerSecond(databaseUrl: string, seconds: number): Promise<number> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: STATEMENTS_AT_ONCE });
  try {
    await pool.query("drop table if exists bare_event");
    await pool.query("create table bare_event (organization_id text, id uuid primary key, type text, body text)");
    let rows = 0;
    const begun = performance.now();
    const end = begun + seconds * 1_000;
    await Promise.all(
      Array.from({ length: STATEMENTS_AT_ONCE }, async () => {
        while (performance.now() < end) {
          await pool.query({
            name: "bare",
            text: `insert into bare_event (organization_id, id, type, body)
              select * from unnest($1::text[], $2::uuid[], $3::text[], $4::text[])`,
            values: [
              column(() => "0190a1b2-0000-7000-8000-0000000000cc"),
              column(randomUUID),
              column(() => "WorkItemCompleted"),
              column(() => SAMPLE_BODY),
            ],
          });
          rows += ROWS_A_STATEMENT;
        }
      }),
    );
    return rows / ((performance.now() - begun) / 1_000);
  } finally {
    await pool.end();
  }
}

function column(value: () => string): string[] {
  return Array.from({ length: ROWS_A_STATEMENT }, value);
}
