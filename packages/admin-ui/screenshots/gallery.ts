import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { projectFolder } from "@herald/testkit/stack/folders";
import { afterEach, beforeEach, describe, test } from "@jest/globals";
import type { BrowserContextOptions, Page } from "playwright-core";
import { type Population, populate } from "../test/support/populate.ts";
import { useTestEnvironment } from "../test/support/test-environment.ts";

/** Pictures of every screen and state of the page: run `pnpm gallery`, then look into .local/gallery. */
const folder = process.env.SCREENSHOTS ?? join(projectFolder(), ".local", "gallery");
const only = process.env.ONLY ? new RegExp(process.env.ONLY) : /./;
const environment = useTestEnvironment();

const looks: Record<string, BrowserContextOptions> = {
  light: { colorScheme: "light", viewport: { width: 1280, height: 860 } },
  dark: { colorScheme: "dark", viewport: { width: 1280, height: 860 } },
  phone: { colorScheme: "light", viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  zoomed: { colorScheme: "dark", viewport: { width: 320, height: 568 } },
};

let population: Population;
let secret = "";
let live = "";

interface Shot {
  name: string;
  place: () => string;
  /** Another session than that of an admin who may do everything. */
  as?: Parameters<typeof environment.signIn>[1] | "nobody";
  /** What is wrong with the API, before the page asks it. */
  before?: (page: Page) => Promise<unknown>;
  act?: (page: Page) => Promise<unknown>;
}

const webhook = (story: keyof Population, rest = "") => `/webhooks/${population[story].id}${rest}`;
const delivery = (story: keyof Population, index: number) =>
  webhook(story, `/deliveries/${population[story].deliveryIds[index]}`);
const button = (page: Page, name: string) => page.getByRole("button", { name }).first().click();
const elsewhere = { organizationId: "an organization without webhooks" };

const saying = (words: string) => (page: Page) => page.getByText(words).waitFor();

/** As if Herald itself stood still since a while: the page's answers say so. */
function standingStill(since: "cutOffSinceUtc" | "heldSinceUtc") {
  const told = { [since]: new Date(Date.now() - 95_000).toISOString() };
  return (page: Page) =>
    page.route(/\/api\/.*\/webhooks\/(overview|[0-9a-f-]{36})$/, async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      const json = Array.isArray(body) ? body.map((each) => ({ ...each, ...told })) : { ...body, ...told };
      await route.fulfill({ response, json });
    });
}

const cutOff = { before: standingStill("cutOffSinceUtc"), act: saying("Herald's network is disturbed") };
const restored = { before: standingStill("heldSinceUtc"), act: saying("Herald is being restored") };

const shots: Shot[] = [
  { name: "list", place: () => "" },
  { name: "list-one", place: () => "", as: { organizationId: "an organization with one" } },
  { name: "list-empty", place: () => "", as: elsewhere },
  { name: "list-no-match", place: () => "?find=zzz", act: (page) => page.getByRole("searchbox").fill("zzz") },
  { name: "list-view-only", place: () => "", as: { permissions: ["integrations.view"] } },
  { name: "create", place: () => "/webhooks/new", act: (page) => page.getByText("A project is created.").waitFor() },
  {
    name: "create-problems",
    place: () => "/webhooks/new",
    act: async (page) => {
      await page.getByLabel("Endpoint URL").fill("http://admin:secret@localhost/hooks");
      await button(page, "Save webhook");
      await page.getByRole("alert").waitFor();
    },
  },
  {
    name: "secret",
    place: () => "/webhooks/new",
    as: { organizationId: "an organization that begins" },
    act: async (page) => {
      await page.getByLabel("Name").fill("Billing mirror");
      await page.getByLabel("Endpoint URL").fill("https://hooks.northpeak-finance.example/herald/v2");
      await page.getByRole("checkbox", { name: "WorkItemCompleted" }).check();
      await button(page, "Save webhook");
      await page.getByRole("dialog").waitFor();
    },
  },
  { name: "webhook-active", place: () => webhook("healthy") },
  { name: "webhook-failing", place: () => webhook("failing") },
  { name: "webhook-disabled", place: () => webhook("disabled") },
  { name: "webhook-paused", place: () => webhook("paused") },
  { name: "webhook-new", place: () => webhook("new") },
  { name: "webhook-no-match", place: () => webhook("healthy", "?outcome=waiting&event=RiskCreated") },
  { name: "resume", place: () => webhook("disabled"), act: (page) => button(page, "Resume…") },
  { name: "pause", place: () => webhook("healthy"), act: (page) => button(page, "Pause…") },
  { name: "menu", place: () => webhook("healthy"), act: (page) => button(page, "More actions") },
  { name: "menu-export", place: () => webhook("healthy"), act: (page) => button(page, "Export") },
  {
    name: "delete",
    place: () => webhook("healthy"),
    act: async (page) => {
      await button(page, "More actions");
      await page.getByRole("menuitem", { name: "Delete webhook…" }).click();
    },
  },
  { name: "delivery-succeeded", place: () => delivery("healthy", 3) },
  { name: "delivery-failing", place: () => delivery("failing", 1) },
  { name: "delivery-parked", place: () => delivery("disabled", 1) },
  { name: "delivery-missing", place: () => webhook("healthy", "/deliveries/01a1fa3e-ea81-780b-8cc5-482e913de018") },
  { name: "signature", place: () => `/webhooks/${live}/signature` },
  {
    name: "signature-mistake",
    place: () => `/webhooks/${live}/signature`,
    act: async (page) => {
      await page.getByLabel("Signing secret").fill(secret);
      await page.getByLabel("What your receiver computed").fill("5f4dcc3b5aa765d61d8327deb882cf99".repeat(2));
      await page.getByText("It differs").waitFor();
    },
  },
  ...["Python", "Go", "C#"].map((language) => ({
    name: `signature-${language.replace("#", "sharp").toLowerCase()}`,
    place: () => `/webhooks/${live}/signature`,
    act: (page: Page) => page.getByText(language, { exact: true }).click(),
  })),
  { name: "manual", place: () => webhook("healthy", "/manual") },
  { name: "manual-paused", place: () => webhook("paused", "/manual") },
  {
    name: "manual-invalid",
    place: () => `/webhooks/${live}/manual`,
    act: (page) => page.getByLabel("JSON to send").fill('{\n  "id": 1,\n  "name": "Harbour"\n  "hours": 8\n}'),
  },
  {
    name: "manual-succeeded",
    place: () => `/webhooks/${live}/manual`,
    act: async (page) => {
      await button(page, "Send manual delivery");
      await page.getByText("Succeeded: the receiver").waitFor();
    },
  },
  {
    name: "manual-failed",
    place: () => `/webhooks/${live}/manual`,
    act: async (page) => {
      environment.receiver.answerWith({ status: 500 });
      await button(page, "Send manual delivery");
      await page.getByText("failed: 500").first().waitFor();
      environment.receiver.answerWith({ status: 200 });
    },
  },
  { name: "settings", place: () => webhook("healthy", "/settings") },
  {
    name: "settings-replace",
    place: () => webhook("healthy", "/settings"),
    act: (page) => page.getByRole("switch", { name: "Replace signing secret" }).click(),
  },
  {
    name: "settings-conflict",
    place: () => `/webhooks/${live}/settings`,
    act: async (page) => {
      await page.getByLabel("Name").fill(`Mine ${Date.now() % 1000}`);
      await environment.api.edit(live, {
        name: `Theirs ${Date.now() % 1000}`,
        url: `${environment.receiver.url}/elsewhere`,
      });
      await button(page, "Save webhook");
      await page.getByRole("alert").waitFor();
    },
  },
  {
    name: "settings-view-only",
    place: () => webhook("healthy", "/settings"),
    as: { permissions: ["integrations.view"] },
  },
  { name: "manual-view-only", place: () => webhook("healthy", "/manual"), as: { permissions: ["integrations.view"] } },
  { name: "signed-out", place: () => "", as: "nobody" },
  { name: "not-allowed", place: () => "", as: { permissions: [] } },
  {
    name: "session-lost",
    place: () => "",
    act: async (page) => {
      await page.context().clearCookies();
      await page.getByText("Your session has ended.").waitFor();
    },
  },
  {
    name: "api-down",
    place: () => webhook("healthy"),
    act: async (page) => {
      await page.route("**/api/**", (route) => route.abort("connectionrefused"));
      await page.getByText("Herald's API can't be reached.").waitFor();
    },
  },
  {
    name: "api-down-from-the-start",
    place: () => "",
    before: (page) => page.route("**/api/**", (route) => route.abort("connectionrefused")),
  },
  {
    name: "api-slow",
    place: () => "",
    before: (page) => page.route("**/webhooks/overview", () => {}),
    act: (page) => page.getByText("Herald's API is slow").waitFor(),
  },
  { name: "list-cut-off", place: () => "", ...cutOff },
  { name: "webhook-cut-off", place: () => webhook("failing"), ...cutOff },
  { name: "list-restored", place: () => "", ...restored },
  { name: "webhook-restored", place: () => webhook("failing"), ...restored },
  { name: "nowhere", place: () => "/nowhere" },
];

async function settled(page: Page): Promise<void> {
  await page.waitForTimeout(500);
  await page.evaluate(() => document.fonts.ready);
}

beforeEach(async () => {
  await mkdir(folder, { recursive: true });
  const { endpoint: only } = await environment.api.create({ name: "Ledger", url: "https://ledger.example/hooks" });
  await environment.db.database.prisma.webhookEndpoint.update({
    where: { id: only.id },
    data: { organizationId: "an organization with one" },
  });
  population = await populate(environment);
  const made = await environment.api.create({
    name: "Workshop",
    url: environment.receiver.url,
    events: ["WorkItemCompleted", "RiskCreated"],
  });
  live = made.endpoint.id;
  secret = made.signingSecret ?? "";
  await environment.api.deliver(live, "RiskCreated", '{"id": 4711, "title": "Late permit", "level": "High"}');
});
afterEach(() => {
  environment.takeProblems();
});

describe.each(Object.entries(looks))("the gallery, %s", (look, options) => {
  test("every screen and state", async () => {
    const failed: string[] = [];
    const admin = await environment.signIn("", { ...options, reducedMotion: "reduce" });
    for (const { name, place, as, before, act } of shots.filter((shot) => only.test(shot.name))) {
      try {
        const page =
          as === "nobody"
            ? await environment.open("", { ...options, reducedMotion: "reduce" })
            : as || before
              ? await environment.signIn("", { ...options, ...as, reducedMotion: "reduce" })
              : admin;
        await before?.(page);
        await page.goto(environment.pageUrl + place());
        await page.getByRole("heading").first().waitFor();
        if (!before) await settled(page);
        await act?.(page);
        if (act) await page.waitForTimeout(250);
        await page.evaluate(() => scrollTo(0, 0));
        const tall = !/^(webhook|delivery|resume|pause|menu|delete|api-down)/.test(name);
        await page.screenshot({ path: join(folder, `${name}.${look}.png`), fullPage: tall });
        await page.unrouteAll({ behavior: "ignoreErrors" });
        if (page !== admin) await page.context().close();
        if (name === "session-lost")
          await admin.context().addCookies(await (await environment.signIn("", options)).context().cookies());
      } catch (error) {
        failed.push(`${name}: ${error}`);
      }
    }
    if (failed.length > 0) throw new Error(failed.join("\n\n"));
  }, 600_000);
});
