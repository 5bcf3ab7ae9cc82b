import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { EVENT_TYPES } from "@herald/contracts";
import { insertEndpoint } from "@herald/dev/harness/rows";
import { describe, expect, test } from "@jest/globals";
import { useTestEnvironment } from "../support/test-environment.ts";

const BUDGET_BYTES = 150 * 1024;

test("the first load takes at most 150 KB of script, gzipped", async () => {
  const dist = new URL("../../dist/", import.meta.url);
  const html = await readFile(new URL("index.html", dist), "utf8");
  const scripts = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map(([, path]) => path ?? "");
  expect(scripts.length).toBeGreaterThan(0);
  const sizes = await Promise.all(scripts.map(async (path) => gzipSync(await readFile(new URL(path, dist))).length));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeLessThanOrEqual(BUDGET_BYTES);
  expect(html).not.toMatch(/<style|<script(?![^>]* src=)| style=/);
});

describe("with 100 webhooks of 200 deliveries each", () => {
  const environment = useTestEnvironment();

  /** @returns the id of one of them */
  async function fill(): Promise<string> {
    const { prisma } = environment.db.database;
    const { organizationId } = environment.api;
    for (let number = 1; number <= 100; number++) {
      const name = `Partner ${String(number).padStart(3, "0")}`;
      await insertEndpoint(prisma, { organizationId, name, events: [...EVENT_TYPES] });
    }
    await prisma.$executeRaw`
      insert into delivery (id, endpoint_id, organization_id, event_type, body, state, attempt_count, status_code,
                            duration_ms, attempted_at, created_at)
      select id_of(substr(int8send((extract(epoch from at) * 1000)::bigint), 3), sha256(uuid_send(gen_random_uuid()))),
             endpoint.id, organization_id, 'WorkItemCompleted', '{}', 'succeeded', 1, 200, 40, at, at
      from webhook_endpoint as endpoint, lateral (
        select now() - n * interval '400 seconds' - random() * interval '400 seconds' as at from generate_series(0, 199) as n
      ) as times
      where organization_id = ${organizationId}`;
    const { id } = await prisma.webhookEndpoint.findFirstOrThrow({ where: { organizationId } });
    return id;
  }

  test("the list is usable, and a webhook shows its deliveries", async () => {
    const id = await fill();
    const page = await environment.signIn();
    const last = page.getByRole("link", { name: "Partner 100" });
    await last.waitFor();

    await page.reload({ waitUntil: "commit" });
    await last.waitFor();

    await page.goto(`${environment.pageUrl}/webhooks/${id}`, { waitUntil: "commit" });
    await page.locator("[data-delivery]").first().waitFor();
  }, 300_000);
});
