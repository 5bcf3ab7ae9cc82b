import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "@jest/globals";
import type { Locator } from "playwright-core";
import { type Population, populate } from "../support/populate.ts";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment({ sharedOrganization: true });
let population: Population;

beforeAll(async () => {
  population = await populate(environment);
});

/** Makes the failing webhook's deliveries due this many seconds from now, however long the tests before took. */
async function isDueIn(seconds: number): Promise<void> {
  const dueAt = new Date(environment.clock.now().getTime() + seconds * 1_000);
  const { prisma } = environment.db.database;
  const endpointId = population.failing.id;
  await prisma.due.updateMany({ where: { endpointId }, data: { dueAt } });
  await prisma.delivery.updateMany({ where: { endpointId, state: "pending" }, data: { nextAttemptAt: dueAt } });
}

test("§2.1/fields a row says name, URL, status in words, events, failures as n of 5, the last day and the last delivery", async () => {
  const page = await environment.signIn();
  const row = (name: string) => page.getByRole("row", { name });
  await row("Chat bridge").getByText("Disabled after five failures").waitFor();
  await row("Chat bridge").getByText("https://bridge.lumenchat.example/in/T02AB/herald").waitFor();
  await row("Chat bridge").getByText("5 of 5").waitFor();
  await row("Chat bridge").getByText("On hold", { exact: true }).waitFor();
  await row("Risk radar").getByText("Paused", { exact: true }).waitFor();
  await row("Timesheet export").getByText("Active, failing").waitFor();
  await row("Timesheet export").getByText("3 of 5").waitFor();
  await row("Billing mirror").getByText("Active", { exact: true }).waitFor();
  await row("Billing mirror").getByText("0 of 5").waitFor();
  await row("Billing mirror").getByText("Succeeded", { exact: true }).waitFor();
  await row("Staging").getByText("None yet").waitFor();
  // Read out, the picture and the shortened events are whole.
  await row("Billing mirror")
    .getByRole("img", { name: /^\d+ deliveries in the last 24 hours: \d+ succeeded/ })
    .waitFor();
  await row("Staging").getByRole("img", { name: "No deliveries in the last 24 hours" }).waitFor();
  expect(await row("Billing mirror").textContent()).toContain("ResourceAllocated, TimesheetApproved");
});

test("the page says that Herald's own network is disturbed, for as long as a dispatcher says so", async () => {
  const { prisma } = environment.db.database;
  const page = await environment.signIn();
  const words = page.getByText("Herald's network is disturbed; nothing is counted.");
  await page.getByRole("link", { name: "Timesheet export" }).waitFor();
  expect(await words.count()).toBe(0);
  const id = randomUUID();
  const alive = { aliveUntil: new Date(Date.now() + 3_600_000) };
  await prisma.process.create({ data: { id, service: "dispatcher", ...alive, outageSince: new Date() } });
  // Heartbeats of the dispatcher that runs leave another one six seconds to live, so this one has its own.
  const heartbeats = setInterval(() => void prisma.process.updateMany({ where: { id }, data: alive }).then(), 1_000);
  try {
    await words.waitFor();
    await page.getByRole("link", { name: "Timesheet export" }).click();
    await words.waitFor();
    await page.getByText("Failing, and tried again later.").waitFor();
  } finally {
    clearInterval(heartbeats);
  }
  await prisma.process.delete({ where: { id } });
  await words.waitFor({ state: "detached" });
});

test("regression: on a phone, lists show the status of each webhook, and response and attempts of each delivery", async () => {
  const page = await environment.signIn("", { viewport: { width: 390, height: 844 } });
  const shows = (row: Locator, words: string) => row.getByText(words, { exact: true }).filter({ visible: true });
  await shows(page.getByRole("row", { name: "Chat bridge" }), "Disabled after five failures").waitFor();
  await shows(page.getByRole("row", { name: "Billing mirror" }), "Active").waitFor();
  await page.getByRole("link", { name: "Deliveries", exact: true }).click();
  const delivery = page.locator(`[data-delivery="${population.failing.deliveryIds[1]}"]`);
  await shows(delivery, "500").waitFor();
  await shows(delivery, "2 of 5").waitFor();
});

test("the list is narrowed by status, in its address", async () => {
  const page = await environment.signIn();
  const names = page.getByRole("rowheader");
  await page.getByRole("radio", { name: /^Paused/ }).check();
  await page.getByRole("rowheader", { name: "Chat bridge" }).waitFor({ state: "detached" });
  expect(await names.count()).toBe(1);
  await page.reload();
  await page.getByRole("rowheader", { name: "Risk radar" }).waitFor();
  expect(await names.count()).toBe(1);
  await page.getByRole("radio", { name: /^All/ }).check();
  await page.getByRole("rowheader", { name: "Chat bridge" }).waitFor();
});

test("a delivery's drawer has an address of its own, and its next attempt counts down", async () => {
  const { id, deliveryIds } = population.failing;
  await isDueIn(600);
  const page = await environment.signIn(`/webhooks/${id}/deliveries/${deliveryIds[1]}`);
  const drawer = page.getByRole("dialog", { name: "TimesheetApproved delivery" });
  await drawer.getByText("2 of 5").waitFor();
  await drawer.getByText("Attempt 2", { exact: true }).waitFor();
  await drawer.getByText("Attempt 1", { exact: true }).waitFor();
  await drawer
    .getByText(/^X-Service-Delivery-Id: /m)
    .first()
    .waitFor();
  await drawer.getByText("upstream timed out").first().waitFor();
  const left = async (): Promise<number> => {
    const [, minutes, seconds] = /in (\d+):(\d\d)/.exec((await drawer.locator("dl").textContent()) ?? "") ?? [];
    return Number(minutes) * 60 + Number(seconds);
  };
  const first = await left();
  expect(first).toBeGreaterThan(0);
  environment.clock.advance(5_000);
  await page.waitForFunction((before) => {
    const [, minutes, seconds] = /in (\d+):(\d\d)/.exec(document.querySelector("dialog dl")?.textContent ?? "") ?? [];
    return Number(minutes) * 60 + Number(seconds) < before;
  }, first);
});
