import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { migrationsFolder } from "@herald/common/database/migrations";
import { diffSchemas } from "../harness/schema-engine.ts";
import { localFolder } from "../stack/folders.ts";
import { startPostgres } from "../stack/postgres.ts";
import { runCommand, UsageError } from "./run-command.ts";

const HELP = `Writes a migration from what prisma/schema.prisma says now and said at the last commit.

  pnpm db:new-migration <what_it_does>

"prisma migrate dev" would need Prisma's native engine and a database; this needs neither.`;

await runCommand(HELP, async () => {
  const name = process.argv[2] ?? "";
  if (!/^[a-z][a-z0-9_]{2,60}$/.test(name)) {
    throw new UsageError(
      "What does the migration do? Name it in small letters, digits and _, such as add_endpoint_note.",
    );
  }
  const migrations = migrationsFolder();
  const script = await changeOfSchema(dirname(migrations));
  if (script === "") throw new Error("schema.prisma means what it meant at the last commit: change it first.");
  const time = new Date().toISOString().replace(/\D/g, "").slice(0, 14);
  const folder = join(migrations, `${time}_${name}`);
  mkdirSync(folder);
  writeFileSync(join(folder, "migration.sql"), script);
  console.log(
    `Wrote ${join(folder, "migration.sql")}. Read it, and add what schema.prisma can't say: a view's new column, a partial index, a check.`,
  );
});

async function changeOfSchema(prismaFolder: string): Promise<string> {
  const committed = execFileSync("git", ["show", "HEAD:./schema.prisma"], { cwd: prismaFolder, encoding: "utf8" });
  const folder = mkdtempSync(join(localFolder(), "migration-"));
  const postgres = await startPostgres({ folder, disposable: true });
  try {
    return await diffSchemas(postgres.url, committed, readFileSync(join(prismaFolder, "schema.prisma"), "utf8"));
  } finally {
    await postgres.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}
