import { readFileSync, writeFileSync } from "node:fs";
import { openSession } from "@herald/common/database/client";
import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import { catalogueFile, catalogueText, readCatalogue } from "../../src/doctor/catalogue.ts";

const db = useDatabase();

test("prisma/migrations/catalogue.txt is what the migrations make; WRITE_CATALOGUE=1 writes it anew", async () => {
  const session = await openSession(db.url, { applicationName: "herald-test" });
  const made = catalogueText(await readCatalogue(session).finally(() => session.close()));
  if (process.env.WRITE_CATALOGUE === "1") writeFileSync(catalogueFile(), made);
  expect(readFileSync(catalogueFile(), "utf8")).toBe(made);
});
