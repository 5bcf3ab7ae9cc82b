import { startEndingPostgres } from "@herald/dev/harness/ending-postgres";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { Pool } from "pg";
import { startRelay } from "../src/outbox/index.ts";

test("a connection that ends in the moment in which it is handed out is a failure of the relay, not the end of its process", async () => {
  const server = await startEndingPostgres();
  const pool = new Pool({ connectionString: server.url });
  const failures: Error[] = [];
  const relay = startRelay({ pool, emitter: { emitJson: async () => {} }, onFailure: (error) => failures.push(error) });
  await eventually(() => expect(failures).not.toHaveLength(0));
  await relay.close();
  await pool.end();
  await server.close();
});
