import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { EVENT_TYPES } from "@herald/contracts";
import { eventually } from "@herald/devkit/harness";
import { describe, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { useWorld } from "./support/world.ts";

const BUDGET_BYTES = 150 * 1024;
const USABLE_MS = 1_000;
/** No pause of the page longer than this: a key press is answered before one wonders. */
const SMOOTH_MS = 150;

test("the first load takes at most 150 KB of script, gzipped", async () => {
  const dist = new URL("../dist/", import.meta.url);
  const html = await readFile(new URL("index.html", dist), "utf8");
  const scripts = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map(([, path]) => path ?? "");
  expect(scripts.length).toBeGreaterThan(0);
  const sizes = await Promise.all(scripts.map(async (path) => gzipSync(await readFile(new URL(path, dist))).length));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeLessThanOrEqual(BUDGET_BYTES);
  expect(html).not.toMatch(/<style|<script(?![^>]* src=)| style=/);
});

describe("with 100 webhooks of 200 deliveries each", () => {
  const world = useWorld();

  /** @returns the id of one of them */
  async function fill(): Promise<string> {
    const { prisma } = world.db.database;
    const { organizationId } = world.api;
    const now = world.clock.now();
    const dayAhead = new Date(now.getTime() + 86_400_000);
    await prisma.webhookEndpoint.createMany({
      data: Array.from({ length: 100 }, (_, index) => ({
        organizationId,
        name: `Partner ${String(index + 1).padStart(3, "0")}`,
        url: `https://partner-${index + 1}.example/webhooks`,
        enabled: true,
        events: [...EVENT_TYPES],
        sealedSecret: "sealed",
        catchUpAt: dayAhead,
        createdAt: now,
        updatedAt: now,
      })),
    });
    await prisma.$executeRaw`
      insert into delivery (id, endpoint_id, organization_id, event_type, body, state, attempt_count, status_code,
                            attempted_at, created_at)
      select uuidv7(age), endpoint.id, organization_id, 'WorkItemCompleted', '{}', 'succeeded', 1, 200, now() + age, now() + age
      from webhook_endpoint as endpoint, lateral (
        select n * interval '-400 seconds' - random() * interval '400 seconds' as age from generate_series(0, 199) as n
      ) as times
      where organization_id = ${organizationId}`;
    const { id } = await prisma.webhookEndpoint.findFirstOrThrow({ where: { organizationId } });
    return id;
  }

  test("its script comes compressed, and is kept from then on", async () => {
    const html = await (await fetch(world.pageUrl)).text();
    const script = /src="\.\/(assets\/[^"]+)"/.exec(html)?.[1];
    const answer = await fetch(`${world.pageUrl}/${script}`, {
      headers: { "accept-encoding": "gzip", connection: "close" },
    });
    await answer.arrayBuffer();
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(answer.headers.get("cache-control")).toContain("immutable");
  });

  test("the list is usable in under a second, and typing and scrolling stay smooth", async () => {
    const page = await world.signIn();
    const slow = await slowness(page);
    const id = await fill();
    const last = page.getByRole("link", { name: "Partner 100" });
    await last.waitFor();

    // The page's own clock: from the beginning of the navigation until the last row can be seen.
    const listMs = await best(USABLE_MS * slow, async () => {
      await page.reload({ waitUntil: "commit" });
      await last.waitFor();
      return await now(page);
    });
    expect(listMs).toBeLessThan(USABLE_MS * slow);

    const find = page.getByRole("searchbox", { name: "Find by name or URL" });
    const typingMs = await best(SMOOTH_MS * slow, async () => {
      const from = await now(page);
      await find.pressSequentially("partner 077");
      await page.getByRole("rowheader", { name: "Partner 077" }).waitFor();
      await eventually(async () => expect(await page.getByRole("rowheader").count()).toBe(1));
      const longest = await longestTaskSince(page, from);
      await find.fill("");
      await last.waitFor();
      return longest;
    });
    expect(typingMs).toBeLessThan(SMOOTH_MS * slow);

    const scrollingMs = await best(SMOOTH_MS * slow, async () => {
      const from = await now(page);
      for (let step = 0; step < 20; step += 1) await page.mouse.wheel(0, step % 2 === 0 ? 900 : -600);
      return await longestTaskSince(page, from);
    });
    expect(scrollingMs).toBeLessThan(SMOOTH_MS * slow);

    const webhookMs = await best(1.5 * USABLE_MS * slow, async () => {
      await page.goto(`${world.pageUrl}/webhooks/${id}`, { waitUntil: "commit" });
      await page.locator("[data-delivery]").first().waitFor();
      return await now(page);
    });
    expect(webhookMs).toBeLessThan(1.5 * USABLE_MS * slow);
  }, 240_000);
});

const PATIENCE_MS = 20_000;
/** What the empty list takes on a machine of two cores that does nothing else. */
const EMPTY_LIST_MS = 400;

/** How many times slower than that this machine is just now; never less than once. The bars are for a machine that is not busy. */
async function slowness(page: Page): Promise<number> {
  const emptyMs = await best(EMPTY_LIST_MS, async () => {
    await page.reload({ waitUntil: "commit" });
    await page.getByRole("heading", { name: "No webhooks yet" }).waitFor();
    return await now(page);
  });
  return Math.max(1, emptyMs / EMPTY_LIST_MS);
}

/** Measures until it is below the bar, and for a while at most: other processes on the machine must not fail the test. */
async function best(barMs: number, measure: () => Promise<number>): Promise<number> {
  const deadline = Date.now() + PATIENCE_MS;
  let least = Number.POSITIVE_INFINITY;
  while (least >= barMs && Date.now() < deadline) least = Math.min(least, await measure());
  return least;
}

const now = (page: Page): Promise<number> => page.evaluate(() => performance.now());

/** How long the page was busy at a stretch, at most; 0 where never for 50 ms. */
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
