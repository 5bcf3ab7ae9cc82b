import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";

// No row of another organization is read or changed, since each statement names the organization of the caller's token: there is no
// second lock behind it. A statement that doesn't is here with its reason.

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const FOLDERS = ["services/management-api/src", "packages/common/src/history", "packages/common/src/database"];

const WITHOUT: Readonly<Record<string, string>> = {
  "packages/common/src/database/migrations.ts appliedMigrations": "the migrations are everybody's",
  "packages/common/src/database/migrations.ts assertMigrated": "it reads PostgreSQL's own catalogue, at the start",
  "packages/common/src/history/sql/failed-attempts.ts failedAttempts":
    "it reads what an endpoint's own row names, which the caller has read by its organization",
  "packages/common/src/database/shards.ts ownerOf": "it reads who owns an endpoint's shard, which is no organization's",
  "packages/common/src/database/shards.ts readDispatching": "of all of Herald; for operators",
  "packages/common/src/database/blocking-sessions.ts readBlockingSessions":
    "it reads PostgreSQL's own sessions, for operators",
  "packages/common/src/database/lag.ts readDaysAhead": "it counts partitions, for operators' metrics",
  "packages/common/src/database/lag.ts readLag": "it counts for operators' metrics, and no request leads to it",
};

/** A file's functions, constants and types by their names, each with its text. */
function declarationsIn(text: string): Map<string, string> {
  const starts = [...text.matchAll(/^(?:export )?(?:async )?(?:function|const|interface|type) (\w+)/gm)];
  return new Map(starts.map((start, index) => [start[1] ?? "", text.slice(start.index, starts[index + 1]?.index)]));
}

/** The text of a declaration, and of those of its file that it uses. */
function withUsed(name: string, declarations: Map<string, string>, seen = new Set<string>()): string {
  if (seen.has(name)) return "";
  seen.add(name);
  const own = declarations.get(name) ?? "";
  const used = [...declarations.keys()].filter((other) => new RegExp(`\\b${other}\\b`).test(own));
  return own + used.map((other) => withUsed(other, declarations, seen)).join("");
}

const WITH_STATEMENT = /\$(?:query|execute)Raw(?:<[^`]*>)?`/;
/** Stands for a value in a statement or in a part of one. */
const NAMES_ORGANIZATION = /\$\{[^}]*organizationId/;

function statementsWithoutOrganization(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && !name.includes("generated"))
      .flatMap((name) => {
        const file = join(ROOT, folder, name);
        const declarations = declarationsIn(readFileSync(file, "utf8"));
        return [...declarations]
          .filter(([, text]) => WITH_STATEMENT.test(text))
          .filter(([declaration]) => !NAMES_ORGANIZATION.test(withUsed(declaration, declarations)))
          .map(([declaration]) => `${relative(ROOT, file)} ${declaration}`);
      }),
  ).sort();
}

test("every statement of the API names the organization that it is for, but for those that are listed with their reason", () => {
  expect(statementsWithoutOrganization()).toEqual(Object.keys(WITHOUT).sort());
});
