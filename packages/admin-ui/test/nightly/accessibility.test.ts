import { expect, jest, test } from "@jest/globals";
import axe from "axe-core";
import type { Locator } from "playwright-core";
import { useScenes, violations, violationsInBothThemes } from "../support/scenes.ts";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment({ sharedOrganization: true });
const scenes = useScenes(environment);

// For a machine that is ten times slower.
jest.setTimeout(600_000);

test("axe finds nothing on the screens beside the main ones, in either theme", async () => {
  expect(await scenes.onEach("other", violationsInBothThemes)).toEqual([]);
});

test("axe finds nothing in what opens on top, in either theme", async () => {
  const page = await environment.signIn(`/webhooks/${scenes.population.disabled.id}?outcome=parked`);
  const found: string[] = [];
  await page.getByRole("button", { name: "Resume…" }).click();
  await page.getByRole("dialog").waitFor();
  found.push(...(await violationsInBothThemes(page, "resume")));
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("dialog").waitFor();
  found.push(...(await violationsInBothThemes(page, "delete")));
  expect(found).toEqual([]);
});

/** The corners of what a screen can show, and what products choose. */
const ACCENTS = ["#000000", "#ffffff", "#ff0000", "#ffff00", "#00ff00", "#00ffff", "#0000ff", "#ff00ff", "#ff6d00"];

test("a product's accent can be read whatever colour it is, in either theme", async () => {
  const found: string[] = [];
  const page = await environment.signIn("", { reducedMotion: "reduce" });
  for (const place of ["", `/webhooks/${scenes.population.failing.id}?outcome=failing`, "/webhooks/new"]) {
    await page.goto(environment.pageUrl + place);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByRole("link").nth(1).waitFor();
    await page.evaluate(axe.source);
    for (const accent of ACCENTS) {
      await page.evaluate((colour) => {
        document.documentElement.style.setProperty("--accent", colour);
        document.documentElement.dataset.accent = "";
      }, accent);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        const bad = await violations(page, ["color-contrast"]);
        found.push(...bad.map((each) => `${accent} at ${place}, ${colorScheme}: ${each}`));
      }
    }
  }
  expect(found).toEqual([]);
});

test("axe finds nothing on screens with a problem, a question or a secret, in either theme", async () => {
  const { endpoint } = await environment.api.create({ name: "Ledger", url: environment.receiver.url });
  const page = await environment.signIn("/webhooks/new");
  const found: string[] = [];
  const look = async (name: string, ready: Locator): Promise<void> => {
    await ready.filter({ visible: true }).first().waitFor();
    found.push(...(await violationsInBothThemes(page, name)));
  };
  const save = page.getByRole("button", { name: "Save webhook" });

  await save.click();
  await look("a refused form", page.getByRole("alert"));
  await page.getByLabel("Name").fill("Billing mirror");
  await page.getByLabel("Endpoint URL").fill(environment.receiver.url);
  await page.getByRole("checkbox", { name: "WorkItemCompleted" }).check();
  await save.click();
  await look("the secret", page.getByRole("dialog", { name: "Signing secret of Billing mirror" }));
  await page.getByRole("button", { name: "Send a sample" }).click();
  await look("a sample's result", page.getByText("Succeeded: the receiver answered 200."));

  await page.goto(`${environment.pageUrl}/webhooks/${endpoint.id}/settings`);
  await page.getByText("Sample and schema").first().click();
  await look("a sample of an event", page.getByRole("link", { name: "JSON Schema of its body" }));
  await page.getByRole("button", { name: "Replace signing secret" }).click();
  await look("the question before a replacement", page.getByRole("button", { name: "Pause and replace" }));
  await page.getByRole("button", { name: "Pause and replace" }).click();
  await look("a replaced secret", page.getByRole("button", { name: "Resume", exact: true }));
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await page.getByRole("button", { name: "Send a sample" }).waitFor();
  await page.goto(environment.pageUrl);
  await page.getByRole("button", { name: "Pause or resume several…" }).click();
  await look("the choice of several webhooks", page.getByRole("dialog"));

  await page.goto(`${environment.pageUrl}/webhooks/${endpoint.id}/settings`);
  await page.getByLabel("Name").fill("Mine");
  await environment.api.edit(endpoint.id, { name: "Theirs" });
  await save.click();
  await look("a conflict", page.getByRole("alert"));

  await page.goto(`${environment.pageUrl}/webhooks/${endpoint.id}/manual`);
  await page.getByLabel("JSON to send").fill("{");
  await look("JSON that is none", page.getByText("Correct the JSON first."));
  await page.getByLabel("JSON to send").fill('{"a":1,"a":2}');
  await look("JSON with a name twice", page.getByText("An object has the same name twice"));
  environment.receiver.answerWith({ status: 500 });
  await page.getByLabel("JSON to send").fill("{}");
  await page.getByRole("button", { name: "Send manual delivery" }).click();
  await look("a failed manual delivery", page.getByText("Attempt 1 failed: 500."));

  await page.route("**/api/**", (route) => route.abort("connectionrefused"));
  await look("an API that is down", page.getByText("Herald's API can't be reached."));
  await page.unroute("**/api/**");
  await page.context().clearCookies();
  await look("a session that has ended", page.getByText("Your session has ended."));
  await page.reload();
  await look("not signed in", page.getByRole("heading", { name: "You are not signed in" }));
  expect(found).toEqual([]);
  await environment.api.delete(endpoint.id);
});

test("what a finger hits in a list of a phone is 44 px high", async () => {
  const page = await environment.signIn("/deliveries?period=24h", {
    isMobile: true,
    hasTouch: true,
    viewport: { width: 360, height: 740 },
  });
  await page.getByRole("button", { name: "Filters" }).click();
  const small = await page
    .locator("[class*=_tab_], search :is(label, button, select, input[type=text])")
    .evaluateAll((all) =>
      all
        .map((each) => [each.textContent, each.getBoundingClientRect().height] as const)
        .filter(([, height]) => height < 44),
    );
  expect(small).toEqual([]);
});

test("a browser that asks for less motion gets none", async () => {
  const { id, deliveryIds } = scenes.population.healthy;
  const page = await environment.signIn(`/webhooks/${id}/deliveries/${deliveryIds[0]}`, { reducedMotion: "reduce" });
  await page.getByRole("dialog").waitFor();
  expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
});
