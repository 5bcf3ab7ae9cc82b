import { readFile } from "node:fs/promises";
import type { DeliveryExportRow } from "@herald/contracts";
import { insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import { beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { useTestEnvironment } from "../support/test-environment.ts";

const HOUR_MS = 3_600_000;
const environment = useTestEnvironment({ sharedOrganization: true, dispatcher: false });
let webhookId: string;

beforeAll(async () => {
  const { prisma } = environment.db.database;
  const webhook = await insertEndpoint(prisma, { organizationId: environment.api.organizationId, name: "Billing" });
  webhookId = webhook.id;
  for (let index = 0; index < 60; index++) {
    const createdAt = new Date(environment.clock.now().getTime() - HOUR_MS - index * 1_000);
    const state = index % 2 ? "succeeded" : "exhausted";
    const latest = { attemptCount: 1, statusCode: index % 2 ? 204 : 410, durationMs: 1_300, attemptedAt: createdAt };
    await insertDelivery(prisma, webhook, { ...latest, state, createdAt, body: `{"index":${index}}` });
  }
});

async function exported(page: Page, choice: string): Promise<{ name: string; text: string }> {
  await page.getByRole("button", { name: "Export" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: choice }).click(),
  ]);
  return { name: download.suggestedFilename(), text: await readFile(await download.path(), "utf8") };
}

test("the deliveries that the filter lets pass are downloaded, also those that aren't loaded", async () => {
  const page = await environment.signIn(`/webhooks/${webhookId}`);
  const all = await exported(page, "CSV, for spreadsheets");
  expect(all.name).toMatch(/^deliveries-[0-9a-f-]+-\d{8}T\d{6}Z\.csv$/);
  expect(all.text.trimEnd().split("\r\n")).toHaveLength(61);

  await page.goto(`${environment.pageUrl}/webhooks/${webhookId}?outcome=exhausted`);
  const { name, text } = await exported(page, "NDJSON with bodies");
  expect(name).toMatch(/\.ndjson$/);
  const rows = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as DeliveryExportRow);
  expect(rows.map(({ state, body }) => [state, body])).toEqual(
    Array.from({ length: 30 }, (_, index) => ["exhausted", `{"index":${2 * index}}`]),
  );
  expect(environment.takeProblems()).toEqual([]);
});

test("the export is chosen by keyboard", async () => {
  const page = await environment.signIn(`/webhooks/${webhookId}`);
  await page.getByRole("button", { name: "Export" }).focus();
  await page.keyboard.press("Enter");
  // The menu moves the focus a moment after each key.
  const focused = (choice: string) =>
    page.getByRole("menuitem", { name: choice }).and(page.locator(":focus")).waitFor();
  await focused("CSV, for spreadsheets");
  await page.keyboard.press("End");
  await focused("NDJSON with bodies");
  const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
  expect(download.suggestedFilename()).toMatch(/\.ndjson$/);
});
