import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { STACK_TIMEOUT_MS } from "../src/harness/stack-client.ts";
import { useBroker } from "../src/harness/use-broker.ts";
import { isPoolerAsked, useDatabase } from "../src/harness/use-database.ts";
import { projectFolder } from "../src/stack/folders.ts";
import { postgresVersion } from "../src/stack/postgres-programs.ts";

const db = useDatabase();
const broker = useBroker();

test(
  "tests run on the versions of PostgreSQL and RabbitMQ that they were asked to, and through a pooler only where they were",
  async () => {
    const [row] = await db.database.prisma.$queryRaw<{ version: string; port: number }[]>`
      select current_setting('server_version') as version, current_setting('port')::int as port`;
    if (!process.env.DATABASE_URL) expect(row?.version.split(".")[0]).toBe(postgresVersion());
    // A pooler has a port of its own.
    expect(row?.port !== Number(new URL(db.url).port)).toBe(isPoolerAsked());

    const connection = await connect(broker.url);
    const { serverProperties } = connection.connection as unknown as { serverProperties: { version: string } };
    await connection.close();
    const { RABBITMQ_VERSION: asked } = process.env;
    if (asked && asked !== "installed") expect(`${serverProperties.version}.`.startsWith(`${asked}.`)).toBe(true);
  },
  STACK_TIMEOUT_MS,
);

const read = (file: string) => readFileSync(join(projectFolder(), file), "utf8");

/** The version of Node that the catalog pins for a system. */
function pinned(system: string): string | undefined {
  return new RegExp(`^  node-(?:bin-)?${system}: (\\S+)$`, "m").exec(read("pnpm-workspace.yaml"))?.[1];
}

test("scripts and tests run on the Node that the packages bring, whatever the machine has", () => {
  expect(process.versions.node).toBe(pinned(`${process.platform}-${process.arch}`));
});

test("the image has, and pnpm checks for, the Node that scripts and tests run on", () => {
  const images = [...read("deploy/docker/Dockerfile").matchAll(/^FROM node:([\d.]+)-/gm)].map(([, version]) => version);
  expect(images).toEqual([pinned("linux-x64"), pinned("linux-x64")]);
  expect(pinned("linux-arm64")).toBe(pinned("linux-x64"));
  expect(read("pnpm-workspace.yaml")).toContain(`\nnodeVersion: ${pinned("linux-x64")}\n`);
});
