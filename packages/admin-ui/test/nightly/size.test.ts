import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { EVENT_TYPES } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { describe, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { useTestEnvironment } from "../support/test-environment.ts";

const BUDGET_BYTES = 150 * 1024;

/** Figures that the run prints. Those of time are no verdict: they say as much of the machine as of the page. */
const tell = (figure: string): boolean => process.stderr.write(`  ${figure}\n`);

test("the first load takes at most 150 KB of script, gzipped", async () => {
  const dist = new URL("../../dist/", import.meta.url);
  const html = await readFile(new URL("index.html", dist), "utf8");
  const scripts = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map(([, path]) => path ?? "");
  expect(scripts.length).toBeGreaterThan(0);
  const sizes = await Promise.all(scripts.map(async (path) => gzipSync(await readFile(new URL(path, dist))).length));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  tell(`script on first load: ${(bytes / 1024).toFixed(1)} KB gzipped, of ${BUDGET_BYTES / 1024}`);
  expect(bytes).toBeLessThanOrEqual(BUDGET_BYTES);
  expect(html).not.toMatch(/<style|<script(?![^>]* src=)| style=/);
});

describe("with 100 webhooks of 200 deliveries each", () => {
  const environment = useTestEnvironment();

  /** @returns the id of one of them */
  async function fill(): Promise<string> {
    const { prisma } = environment.db.database;
    const { organizationId } = environment.api;
    const now = environment.clock.now();
    await prisma.webhookEndpoint.createMany({
      data: Array.from({ length: 100 }, (_, index) => ({
        organizationId,
        name: `Partner ${String(index + 1).padStart(3, "0")}`,
        url: `https://partner-${index + 1}.example/webhooks`,
        enabled: true,
        events: [...EVENT_TYPES],
        sealedSecret: "sealed",
        createdAt: now,
        updatedAt: now,
      })),
    });
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

  test("the page's script comes compressed, and browsers keep it", async () => {
    const html = await (await fetch(environment.pageUrl)).text();
    const script = /src="\.\/(assets\/[^"]+)"/.exec(html)?.[1];
    const answer = await fetch(`${environment.pageUrl}/${script}`, {
      headers: { "accept-encoding": "gzip", connection: "close" },
    });
    await answer.arrayBuffer();
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(answer.headers.get("cache-control")).toContain("immutable");
  });

  test("the list is usable, typing narrows it, and a webhook shows its deliveries", async () => {
    const id = await fill();
    const page = await environment.signIn();
    const last = page.getByRole("link", { name: "Partner 100" });
    await last.waitFor();

    await page.reload({ waitUntil: "commit" });
    await last.waitFor();
    tellMs("list of 100 usable", await now(page));

    const find = page.getByRole("searchbox", { name: "Find by name or URL" });
    const typing = await now(page);
    await find.pressSequentially("partner 077");
    await page.getByRole("rowheader", { name: "Partner 077" }).waitFor();
    await eventually(async () => expect(await page.getByRole("rowheader").count()).toBe(1));
    tellMs("longest task while typing", await longestTaskSince(page, typing));
    await find.fill("");
    await last.waitFor();

    const scrolling = await now(page);
    for (let step = 0; step < 20; step += 1) await page.mouse.wheel(0, step % 2 === 0 ? 900 : -600);
    tellMs("longest task while scrolling", await longestTaskSince(page, scrolling));

    await page.goto(`${environment.pageUrl}/webhooks/${id}`, { waitUntil: "commit" });
    await page.locator("[data-delivery]").first().waitFor();
    tellMs("webhook of 200 deliveries usable", await now(page));
  }, 300_000);
});

const tellMs = (what: string, ms: number): boolean => tell(`${what}: ${Math.round(ms)} ms`);

const now = (page: Page): Promise<number> => page.evaluate(() => performance.now());

/** The longest time that the page was busy without a pause; 0 where it never was for 50 ms. */
function longestTaskSince(page: Page, fromMs: number): Promise<number> {
  return page.evaluate(
    (from) =>
      new Promise<number>((resolve) => {
        let longest = 0;
        const observer = new PerformanceObserver((list) => {
          for (const { startTime, duration } of list.getEntries()) {
            if (startTime >= from) longest = Math.max(longest, duration);
          }
        });
        observer.observe({ type: "longtask", buffered: true });
        setTimeout(() => resolve(longest), 150);
      }),
    fromMs,
  );
}
