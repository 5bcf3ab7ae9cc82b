import { eventually } from "@herald/dev/harness/eventually";
import { beforeEach, expect, test } from "@jest/globals";
import type { Locator, Page } from "playwright-core";
import { type Population, populate } from "../support/populate.ts";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment();
let id = "";

beforeEach(async () => {
  const { endpoint } = await environment.api.create({
    name: "Live",
    url: environment.receiver.url,
    events: ["WorkItemCompleted", "RiskCreated"],
  });
  id = endpoint.id;
});

const rowIds = (page: Page) =>
  page.locator("[data-delivery]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-delivery")));

/** How soon the page asks for new results, by its own clock: how long an answer takes is not the page's doing. */
const ASKED_AFTER_MS = 2_000;

interface Questions {
  /** Paths that the page has fetched so far. */
  asked: string[];
  /** How many of them are not answered in full yet. */
  pending: number;
}

/** Opens a path of the page with a clock that the test can hold and move, and counts what the page asks the API. */
async function openWithSteeredClock(path: string): Promise<Page> {
  const page = await environment.signIn();
  await page.clock.install();
  await page.addInitScript(() => {
    const questions: Questions = { asked: [], pending: 0 };
    const send = globalThis.fetch;
    globalThis.fetch = async (input, init) => {
      questions.asked.push(String(input).replace(/\?.*/, ""));
      questions.pending += 1;
      try {
        const response = await send(input, init);
        await response.clone().arrayBuffer();
        return response;
      } finally {
        questions.pending -= 1;
      }
    };
    Object.assign(globalThis, { questions });
  });
  await page.goto(environment.pageUrl + path);
  return page;
}

const questionsOf = (page: Page): Promise<Questions> =>
  page.evaluate(() => (globalThis as unknown as { questions: Questions }).questions);

/** Stops the page's clock, and waits until everything is answered that was asked before. */
async function holdClock(page: Page): Promise<void> {
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1_000));
  await eventually(async () => expect((await questionsOf(page)).pending).toBe(0));
}

/** Moves the page's clock by two seconds, by when the page must have asked, and waits until it shows the answer. */
async function showsWithinTwoSeconds(page: Page, path: string, shown: () => Promise<void>): Promise<void> {
  const count = async () => (await questionsOf(page)).asked.filter((each) => each.endsWith(path)).length;
  await holdClock(page);
  // If an answer takes long, the page asks less often. By its own clock an answer takes at most one of these steps.
  const before = await count();
  await eventually(async () => {
    await page.clock.runFor(20);
    expect(await count()).toBeGreaterThan(before);
  });
  await eventually(async () => expect((await questionsOf(page)).pending).toBe(0));
  const asked = await count();
  await page.clock.runFor(ASKED_AFTER_MS);
  expect(await count()).toBeGreaterThan(asked);
  await page.clock.resume();
  await eventually(shown);
}

test("a new delivery shows within two seconds", async () => {
  const page = await openWithSteeredClock(`/webhooks/${id}`);
  await page.getByText("No deliveries yet").waitFor();
  for (let count = 1; count <= 3; count += 1) {
    await environment.emit();
    await environment.receiver.received(count);
    await showsWithinTwoSeconds(page, "/deliveries", async () => expect(await rowIds(page)).toHaveLength(count));
  }
});

test("no row moves under the pointer: new ones wait behind a button that counts them", async () => {
  await environment.emit();
  const page = await environment.signIn(`/webhooks/${id}`);
  const row = page.locator("[data-delivery]").first();
  await row.hover();
  const expectKept = await keepsPlace(row);
  await environment.emit();
  await environment.emit("RiskCreated");
  const pill = page.getByRole("button", { name: "2 new deliveries" });
  await pill.waitFor();
  await expectKept();
  expect(await rowIds(page)).toHaveLength(1);
  await pill.click();
  await eventually(async () => expect(await rowIds(page)).toHaveLength(3));
  expect(await pill.count()).toBe(0);
});

test("a row keeps its place in the window when a notice appears or goes above it", async () => {
  await environment.emit();
  const page = await environment.signIn(`/webhooks/${id}`);
  const row = page.locator("[data-delivery]").first();
  await row.hover();
  const expectKept = await keepsPlace(row);
  environment.receiver.answerWith({ status: 500 });
  await environment.emitRefused(1);
  await page.getByRole("heading", { name: "1 of 5 failures in a row" }).waitFor();
  await expectKept();
  await environment.emitRefused(4);
  await page.getByRole("heading", { name: "Disabled after five failures in a row" }).waitFor();
  await eventually(async () => expect(await page.getByRole("link", { name: /^Details of / }).count()).toBe(5));
  await expectKept();
  await environment.api.edit(id, { enabled: true });
  await page.getByRole("heading", { name: "Disabled after five failures in a row" }).waitFor({ state: "detached" });
  await expectKept();
});

test("no row moves under the keyboard's focus; when the focus leaves, new rows come by themselves", async () => {
  await environment.emit();
  const page = await environment.signIn(`/webhooks/${id}`);
  await page.getByRole("link", { name: /^Succeeded/ }).focus();
  await environment.emit();
  await page.getByRole("button", { name: "1 new delivery" }).waitFor();
  await page.getByRole("radio", { name: "All" }).focus();
  await eventually(async () => expect(await rowIds(page)).toHaveLength(2));
});

test("older deliveries come as one scrolls, each once", async () => {
  const population: Population = await populate(environment);
  const { id: busy, deliveryIds } = population.busy;
  expect(deliveryIds.length).toBeGreaterThan(150);
  const page = await environment.signIn(`/webhooks/${busy}`);
  await page.locator("[data-delivery]").first().waitFor();
  await eventually(
    async () => {
      await page.mouse.wheel(0, 20_000);
      expect(await rowIds(page)).toEqual(deliveryIds);
    },
    { timeoutMs: 300_000, intervalMs: 100 },
  );
  await page.getByText("There are no more.").waitFor();
}, 600_000);

test("a hidden page asks for nothing", async () => {
  const page = await openWithSteeredClock(`/webhooks/${id}`);
  await page.getByText("No deliveries yet").waitFor();
  await holdClock(page);
  await page.evaluate(() => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "hidden" });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  const { asked: before } = await questionsOf(page);
  await environment.emit();
  await environment.receiver.received(1);
  await page.clock.runFor(60_000);
  expect((await questionsOf(page)).asked).toEqual(before);
});

/** Remembers the place of a row in the window. A pixel is allowed: a window scrolls by whole ones, and rows begin at halves too. */
async function keepsPlace(row: Locator): Promise<() => Promise<void>> {
  const top = async () => (await row.boundingBox())?.y ?? Number.NaN;
  const before = await top();
  return async () => expect(Math.abs((await top()) - before)).toBeLessThanOrEqual(1);
}
