import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import type { Locator, Page } from "playwright-core";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment();

/** The focused element, by its role and name as they are read out, more or less. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const element = document.activeElement;
    if (!(element instanceof HTMLElement)) return "";
    const label = element.getAttribute("aria-label") ?? (element as HTMLInputElement).labels?.[0]?.textContent;
    return label ?? element.textContent ?? "";
  });

/** Presses Tab until the element with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const passed: string[] = [];
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press("Tab");
    const now = await focused(page);
    if (now.startsWith(name)) return;
    passed.push(now);
  }
  throw new Error(`Tab never came to “${name}”. It passed: ${passed.join(" | ")}`);
}

test("with the keyboard alone one makes a webhook, opens a delivery, pauses and deletes", async () => {
  const page = await environment.signIn();
  await page.getByRole("heading", { name: "No webhooks yet" }).waitFor();

  await page.keyboard.press("Tab");
  expect(await focused(page)).toBe("Skip to content");
  await page.keyboard.press("Enter");
  await tabTo(page, "New webhook");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "New webhook", level: 1 }).waitFor();
  expect(await focused(page)).toBe("New webhook");
  await tabTo(page, "Name");
  await page.keyboard.type("By hand");
  await tabTo(page, "Endpoint URL");
  await page.keyboard.type(environment.receiver.url);
  await page.getByText("A work item's status changes to Done.").waitFor();
  await tabTo(page, "WorkItemCompleted");
  await page.keyboard.press("Space");
  await tabTo(page, "Save webhook");
  await page.keyboard.press("Enter");
  const secret = page.getByRole("dialog", { name: "Signing secret of By hand" });
  await secret.waitFor();
  await tabTo(page, "I have stored it");
  await page.keyboard.press("Enter");
  await secret.waitFor({ state: "hidden" });

  await environment.emit();
  await page.getByRole("link", { name: "Succeeded, WorkItemCompleted, " }).waitFor();
  await tabTo(page, "Succeeded, WorkItemCompleted, ");
  await page.keyboard.press("Enter");
  const drawer = page.getByRole("dialog", { name: "WorkItemCompleted delivery" });
  await drawer.getByRole("heading", { name: "Body" }).waitFor();
  // Past the last control the focus may go to the browser's own, where Firefox leaves it: that is looked at last.
  const controls = await drawer.evaluate(
    (dialog) =>
      [...dialog.querySelectorAll('a[href], button:enabled, summary, [tabindex="0"]')].filter((each) =>
        each.checkVisibility(),
      ).length,
  );
  expect(controls).toBeGreaterThan(5);
  for (let presses = 0; presses < controls; presses += 1) {
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.matches("dialog *"))).toBe(true);
  }
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "hidden" });
  expect(await focused(page)).toMatch(/^Succeeded, WorkItemCompleted, /);

  await page.keyboard.press("Shift+Tab");
  await tabTo(page, "Succeeded, WorkItemCompleted, ");
  await page.evaluate(() => document.getElementById("main")?.focus());
  await tabTo(page, "Pause…");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Pause By hand?" }).waitFor();
  await tabTo(page, "Pause");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Resume…" }).waitFor();

  await page.evaluate(() => document.getElementById("main")?.focus());
  await tabTo(page, "Delete…");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Delete By hand?" }).waitFor();
  await page.keyboard.type("By hand");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "No webhooks yet" }).waitFor();
}, 600_000);

test("the focus stays in a dialog, or goes to the browser's own controls, and never behind it", async () => {
  const { endpoint } = await environment.api.create({ name: "Kept", url: environment.receiver.url });
  const page = await environment.signIn(`/webhooks/${endpoint.id}`);
  await page.getByRole("button", { name: "Pause…" }).click();
  await page.getByRole("dialog", { name: "Pause Kept?" }).waitFor();
  for (let presses = 0; presses < 25; presses += 1) {
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.matches("dialog *, dialog, body"))).toBe(true);
  }
});

test("what happens is read out: results, new deliveries, changes of state", async () => {
  const { endpoint } = await environment.api.create({ name: "Read out", url: environment.receiver.url });
  const page = await environment.signIn(`/webhooks/${endpoint.id}`);
  const said = page.locator("#announcements");
  await page.getByRole("button", { name: "Pause…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
  await said.getByText("Read out is paused.").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Resume…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Resume", exact: true }).click();
  await said.getByText("Read out is active again.").waitFor({ state: "attached" });
  await environment.emit();
  await page.getByRole("link", { name: /^Succeeded/ }).focus();
  await environment.emit();
  await said.getByText("New deliveries have come.").waitFor({ state: "attached" });
});

test("regression: a day is typed part by part, and its field stays while it is no day", async () => {
  const { endpoint } = await environment.api.create({ name: "Days", url: environment.receiver.url });
  await environment.emit();
  const page = await environment.signIn(`/webhooks/${endpoint.id}`);
  await page.getByRole("combobox", { name: "Period" }).selectOption("Between days");
  const first = page.getByLabel("First day");
  await first.focus();
  await page.keyboard.press("Backspace");
  expect(await first.inputValue()).toBe("");
  await page.keyboard.type("01");
  await page.waitForURL(/from=\d{4}-01-\d\d/);
  await first.fill("");
  await page.getByRole("radio", { name: "All" }).focus();
  await first.waitFor({ state: "hidden" });
});

/** What says an exact moment. A row's link covers its time, and the row moves while parts of the page load. */
const hintOf = (page: Page): Locator => page.getByText(/^\d.* · \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

async function pointAtTime(page: Page): Promise<void> {
  await eventually(async () => {
    const time = page.locator("[data-delivery] time").first();
    await time.scrollIntoViewIfNeeded();
    const box = await time.boundingBox();
    await page.mouse.move((box?.x ?? 0) + 8, (box?.y ?? 0) + 8);
    await hintOf(page).waitFor({ timeout: 1_000 });
  });
}

/** A scroll is told with the next frame, and what follows from it is drawn with the one after. */
const frames = (page: Page): Promise<unknown> =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** After the page scrolled, the hint is still shown: within the window, right above or below the time of this row. */
async function expectHintBeside(page: Page, row: number): Promise<void> {
  await frames(page);
  expect(await hintOf(page).count()).toBe(1);
  const time = await page.locator("[data-delivery] time").nth(row).boundingBox();
  const hint = await hintOf(page).boundingBox();
  const height = page.viewportSize()?.height ?? 0;
  if (!time || !hint) throw new Error("The time or its hint is not shown.");
  const gap = Math.max(time.y - hint.y - hint.height, hint.y - time.y - time.height);
  expect(gap).toBeCloseTo(6, 0);
  expect(hint.x < time.x + time.width && hint.x + hint.width > time.x).toBe(true);
  expect(hint.y >= 0 && hint.y + hint.height <= height).toBe(true);
}

test("times say the moment, also in UTC, on hover and on focus, and Escape puts that away", async () => {
  const { endpoint } = await environment.api.create({ name: "Hints", url: environment.receiver.url });
  await environment.emit();
  const page = await environment.signIn(`/webhooks/${endpoint.id}`);
  await pointAtTime(page);
  await page.keyboard.press("Escape");
  await hintOf(page).waitFor({ state: "hidden" });
  await page.getByRole("radio", { name: "All" }).focus();
  await tabTo(page, "Succeeded, WorkItemCompleted, ");
  await hintOf(page).waitFor();
});

test("regression: the hint stays beside each row that Tab brings into view, and while one scrolls; Escape closes it", async () => {
  const { endpoint } = await environment.api.create({ name: "Below", url: environment.receiver.url });
  for (let count = 0; count < 4; count += 1) await environment.emit();
  const page = await environment.signIn(`/webhooks/${endpoint.id}`, { viewport: { width: 1280, height: 480 } });
  await eventually(async () => expect(await page.getByRole("link", { name: /^Succeeded/ }).count()).toBe(4));
  await page.getByRole("radio", { name: "All" }).focus();
  await tabTo(page, "Succeeded, WorkItemCompleted, ");
  await page.keyboard.press("Shift+Tab");
  const moveTo = (top: number): Promise<void> => page.evaluate((y) => scrollTo(0, y), top);
  const scrolled = () => page.evaluate(() => scrollY);
  for (let row = 0; row < 4; row += 1) {
    await moveTo(0);
    await frames(page);
    await page.keyboard.press("Tab");
    expect(await scrolled()).toBeGreaterThan(0);
    await expectHintBeside(page, row);
  }
  await moveTo((await scrolled()) - 20);
  await expectHintBeside(page, 3);
  await page.keyboard.press("Escape");
  await hintOf(page).waitFor({ state: "hidden" });
  await moveTo(0);
  expect(await hintOf(page).count()).toBe(0);
});

test("regression: the hint stays when something appears above its row, for the focus and the pointer, until the row is scrolled away", async () => {
  const { endpoint } = await environment.api.create({ name: "Above", url: environment.receiver.url });
  await environment.emit();
  const page = await environment.signIn(`/webhooks/${endpoint.id}`);
  await page.getByRole("link", { name: /^Succeeded/ }).waitFor();
  await page.getByRole("radio", { name: "All" }).focus();
  await tabTo(page, "Succeeded, WorkItemCompleted, ");
  environment.receiver.answerWith({ status: 500 });
  await environment.emitRefused(1);
  await page.getByRole("heading", { name: "1 of 5 failures in a row" }).waitFor();
  await expectHintBeside(page, 0);
  await page.getByRole("radio", { name: "All" }).focus();
  await pointAtTime(page);
  await environment.emitRefused(4);
  await page.getByRole("heading", { name: "Disabled after five failures in a row" }).waitFor();
  await expectHintBeside(page, 0);
  await page.mouse.wheel(0, -200);
  await hintOf(page).waitFor({ state: "hidden" });
});
