import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";

/** The line that docs/emitting-events.md gives for Prisma. */
function documentedLine(): string {
  const page = readFileSync(join(projectFolder(), "docs", "emitting-events.md"), "utf8");
  const [, line] = /^\| Prisma \| `` (.+) `` \|$/m.exec(page) ?? [];
  if (line === undefined) throw new Error("docs/emitting-events.md has no line for Prisma.");
  return line;
}

/** @param type of the project's modules */
export const prismaSchema = (type: "commonjs" | "module"): string => `
generator client {
  provider            = "prisma-client"
  output              = "../generated"
  moduleFormat        = "${type === "commonjs" ? "cjs" : "esm"}"
  importFileExtension = "js"
}

datasource db {
  provider = "postgresql"
}

model WorkItem {
  id     String @id @default(uuid()) @db.Uuid
  status String @default("InProgress")

  @@map("work_item")
}
`;

export const PRISMA_CONFIG = `
import { defineConfig } from "prisma/config";

export default defineConfig({ schema: "prisma/schema.prisma", datasource: { url: process.env.DATABASE_URL ?? "" } });
`;

/** A service that emits inside of a transaction, with the line of the page in it. */
export const PRISMA_SERVICE = `
import { eventJson, newEvent } from "@herald/emitter";
import { PrismaPg } from "@prisma/adapter-pg";
import { PrismaClient } from "./generated/client.js";

export const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL ?? "" }) });

export async function complete(id: string, organizationId: string, end = () => {}): Promise<void> {
  await prisma.$transaction(async (tx) => {
    const { status } = await tx.workItem.findUniqueOrThrow({ where: { id } });
    await tx.workItem.update({ where: { id }, data: { status: "Done" } });
    const changes = { Status: { oldValue: status, newValue: "Done" } };
    const event = newEvent({ organizationId, type: "WorkItemCompleted", entityType: "WorkItem", entityId: id, data: { changes } });
    ${documentedLine()};
    end();
  });
}
`;

/** Its test, for jest. */
export const PRISMA_SERVICE_TEST = `
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { outboxTable } from "@herald/emitter/outbox";
import { complete, prisma } from "./prisma-service.js";

beforeAll(async () => {
  await prisma.$executeRawUnsafe("create table work_item (id uuid primary key, status text not null)");
  for (const statement of outboxTable().split(";\\n").filter(Boolean)) await prisma.$executeRawUnsafe(statement);
});
afterAll(() => prisma.$disconnect());

const rows = () => prisma.$queryRaw<{ event: string }[]>\`select event from herald_outbox\`;

test("the event is there if and only if the transaction committed", async () => {
  const { id } = await prisma.workItem.create({ data: {} });
  const refuse = () => {
    throw new Error("not today");
  };
  await expect(complete(id, "org-1", refuse)).rejects.toThrow("not today");
  expect([await prisma.workItem.findMany(), await rows()]).toEqual([[{ id, status: "InProgress" }], []]);
  await complete(id, "org-1");
  expect(await prisma.workItem.findMany()).toEqual([{ id, status: "Done" }]);
  expect((await rows()).map(({ event }) => JSON.parse(event))).toMatchObject([{ type: "WorkItemCompleted", entityId: id }]);
});
`;
