import { writeFileSync } from "node:fs";
import { askForPgbouncer, STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { isPoolerAsked } from "@herald/testkit/harness/test-pooler";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { postgresVersion } from "@herald/testkit/stack/postgres-versions";
import { runProgram } from "@herald/testkit/stack/programs";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { VERSIONS_FILE, type Versions } from "../../src/compatibility/results.ts";

const db = useDatabase();
const broker = useBroker();

test(
  "tests run on the versions of PostgreSQL and RabbitMQ that they were asked to, and through a pooler only where they were",
  async () => {
    const [row] = await db.database.prisma.$queryRaw<{ server_version: string; port: number }[]>`
      select current_setting('server_version') as server_version, current_setting('port')::int as port`;
    const connection = await connect(broker.url);
    const { serverProperties } = connection.connection as unknown as { serverProperties: { version: string } };
    await connection.close();
    const versions: Versions = {
      node: process.versions.node,
      postgres: row?.server_version ?? "",
      rabbitmq: serverProperties.version,
    };
    // A pooler has a port of its own.
    expect(row?.port !== Number(new URL(db.url).port)).toBe(isPoolerAsked());
    if (isPoolerAsked()) versions.pooler = await poolerVersion();

    if (!process.env.DATABASE_URL) expect(versions.postgres.split(".")[0]).toBe(postgresVersion());
    const { RABBITMQ_VERSION: asked } = process.env;
    if (asked && asked !== "installed") expect(`${versions.rabbitmq}.`.startsWith(`${asked}.`)).toBe(true);
    const file = process.env[VERSIONS_FILE];
    if (file) writeFileSync(file, JSON.stringify(versions));
  },
  STACK_TIMEOUT_MS,
);

/** As "PgBouncer 1.18.0". */
async function poolerVersion(): Promise<string> {
  const { executable } = await askForPgbouncer();
  const text = await runProgram(executable, ["--version"], { what: "Asking PgBouncer for its version" });
  return text.split("\n")[0] ?? "";
}
