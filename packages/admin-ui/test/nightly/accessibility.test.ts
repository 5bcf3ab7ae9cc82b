import { idAt, insertDelivery, insertResend } from "@herald/testkit/harness/rows";
import { afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import axe from "axe-core";
import type { Locator, Page } from "playwright-core";
import { type Population, populate } from "../support/populate.ts";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment({ sharedOrganization: true });
let population: Population;
let eventKey: string;

beforeAll(async () => {
  population = await populate(environment);
  const id = population.healthy.deliveryIds[0] ?? "";
  const delivery = await environment.db.database.prisma.delivery.findFirstOrThrow({ where: { id } });
  eventKey = delivery.eventKey ?? "";
  await storeResend(population.healthy.id);
});

/** A delivery that was given up, and a resend that runs. The clock stands still, so no publisher takes it. */
async function storeResend(id: string): Promise<void> {
  const { prisma } = environment.db.database;
  const endpoint = { id, organizationId: environment.api.organizationId };
  const { events } = await prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });
  const now = environment.clock.now();
  const createdAt = new Date(now.getTime() - 30 * 60_000);
  const eventType = events[0] ?? "";
  const attempted = { attemptCount: 5, attemptedAt: createdAt, statusCode: 503 };
  await insertDelivery(prisma, endpoint, {
    id: idAt(createdAt),
    createdAt,
    eventType,
    state: "exhausted",
    ...attempted,
  });
  await insertResend(prisma, endpoint, { startedAt: now, total: 1_000, dueAt: new Date(now.getTime() + 3_600_000) });
}

/** For a machine that is ten times slower. */
const TIMEOUT_MS = 600_000;
/** Pages that are looked at side by side. */
const PAGES = 3;

/** A place of the page, and what shows that it is there. */
interface Scene {
  name: string;
  place: () => string;
  ready: (page: Page) => Promise<unknown>;
}

const deliveryOf = (story: "failing" | "healthy"): string => {
  const { id, deliveryIds } = population[story];
  return `/webhooks/${id}/deliveries/${deliveryIds[0]}`;
};

const scenes: Scene[] = [
  { name: "the list", place: () => "", ready: (page) => page.getByRole("link", { name: "Risk radar" }).waitFor() },
  {
    name: "a new webhook",
    place: () => "/webhooks/new",
    ready: (page) => page.getByText("A project is created.").waitFor(),
  },
  {
    name: "a healthy webhook",
    place: () => `/webhooks/${population.healthy.id}?period=1h`,
    ready: async (page) => {
      await page.locator(".uplot canvas").waitFor();
      await page
        .getByRole("link", { name: /^Succeeded, / })
        .first()
        .waitFor();
    },
  },
  {
    name: "a disabled webhook",
    place: () => `/webhooks/${population.disabled.id}?outcome=failing`,
    ready: (page) => page.getByRole("button", { name: "Resume…" }).waitFor(),
  },
  {
    name: "a paused webhook",
    place: () => `/webhooks/${population.paused.id}?outcome=failing`,
    ready: (page) => page.getByText("Paused by Ana Lindqvist").waitFor(),
  },
  {
    name: "a webhook without deliveries",
    place: () => `/webhooks/${population.new.id}`,
    ready: (page) => page.getByText("No deliveries yet").waitFor(),
  },
  {
    name: "a delivery",
    place: () => `${deliveryOf("failing")}?outcome=failing`,
    ready: (page) => page.getByText("upstream timed out").waitFor(),
  },
  {
    name: "manual delivery",
    place: () => `/webhooks/${population.healthy.id}/manual`,
    ready: (page) => page.getByRole("button", { name: "Send manual delivery" }).waitFor(),
  },
  {
    name: "signature",
    place: () => `/webhooks/${population.healthy.id}/signature`,
    ready: async (page) => {
      await page.getByText("Expected X-Service-Signature").waitFor();
      await page.getByText("timingSafeEqual").first().waitFor();
    },
  },
  {
    name: "settings",
    place: () => `/webhooks/${population.healthy.id}/settings`,
    ready: (page) => page.getByText("A project is created.").waitFor(),
  },
  {
    name: "changes",
    place: () => `/webhooks/${population.healthy.id}/changes`,
    ready: (page) => page.getByText("Created by Ana Lindqvist").waitFor(),
  },
  {
    name: "what a receiver never got",
    place: () => `/webhooks/${population.healthy.id}/never-got`,
    ready: async (page) => {
      await page.getByRole("button", { name: "Send again…" }).waitFor();
      await page.getByRole("button", { name: "Stop" }).waitFor();
    },
  },
  {
    name: "what a search found",
    place: () => `/search?q=${population.healthy.deliveryIds[0]}`,
    ready: (page) => page.getByRole("link", { name: "event with its body" }).first().waitFor(),
  },
  {
    name: "webhooks that a search found",
    place: () => "/search?q=radar",
    ready: (page) => page.getByRole("link", { name: "Risk radar" }).waitFor(),
  },
  {
    name: "an event",
    place: () => `/events/${eventKey}`,
    ready: (page) => page.getByText("Body, as receivers get it").waitFor(),
  },
  {
    name: "nothing",
    place: () => "/nowhere",
    ready: (page) => page.getByText("There is nothing at this address").waitFor(),
  },
];

/** Has every screen looked at, several at a time, and returns all that was found. */
async function onEveryScreen(look: (page: Page, name: string) => Promise<string[]>): Promise<string[]> {
  const rest = [...scenes];
  const first = await environment.signIn("", { reducedMotion: "reduce" });
  const pages = [first, ...(await Promise.all(Array.from({ length: PAGES - 1 }, () => first.context().newPage())))];
  const found = await Promise.all(
    pages.map(async (page) => {
      const here: string[] = [];
      for (let scene = rest.shift(); scene; scene = rest.shift()) {
        await page.goto(environment.pageUrl + scene.place());
        await scene.ready(page);
        here.push(...(await look(page, scene.name)));
      }
      return here;
    }),
  );
  return found.flat();
}

const everyRule = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

async function violations(page: Page, rules: string[]): Promise<string[]> {
  const { violations: found } = await page.evaluate(
    (runOnly) =>
      (globalThis as unknown as { axe: { run(options: object): Promise<{ violations: AxeViolation[] }> } }).axe.run({
        runOnly,
        resultTypes: ["violations"],
        elementRef: false,
      }),
    rules,
  );
  return found.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help}\n  ${node.html}\n  ${node.failureSummary}`),
  );
}

interface AxeViolation {
  id: string;
  help: string;
  nodes: { html: string; failureSummary: string }[];
}

async function violationsInBothThemes(page: Page, name: string): Promise<string[]> {
  // Evaluated by the debugger, past the CSP that would keep it out of a <script>.
  await page.evaluate(axe.source);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  const light = await violations(page, everyRule);
  // Another theme has other colours, and nothing else.
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await violations(page, ["color-contrast"]);
  return [...light.map((each) => `${name}, light: ${each}`), ...dark.map((each) => `${name}, dark: ${each}`)];
}

test(
  "axe finds nothing on any screen, in either theme",
  async () => {
    const found = await onEveryScreen((page, name) => violationsInBothThemes(page, name));
    expect(found).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "axe finds nothing in what opens on top, in either theme",
  async () => {
    const page = await environment.signIn(`/webhooks/${population.disabled.id}?outcome=failing`);
    const found: string[] = [];
    await page.getByRole("button", { name: "Resume…" }).click();
    await page.getByRole("dialog").waitFor();
    found.push(...(await violationsInBothThemes(page, "resume")));
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByRole("menu").waitFor();
    found.push(...(await violationsInBothThemes(page, "export")));
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menu").waitFor();
    found.push(...(await violationsInBothThemes(page, "menu")));
    await page.getByRole("menuitem", { name: "Delete webhook…" }).click();
    await page.getByRole("dialog").waitFor();
    found.push(...(await violationsInBothThemes(page, "delete")));
    expect(found).toEqual([]);
  },
  TIMEOUT_MS,
);

/** The corners of what a screen can show, and what products choose. */
const ACCENTS = ["#000000", "#ffffff", "#ff0000", "#ffff00", "#00ff00", "#00ffff", "#0000ff", "#ff00ff", "#ff6d00"];

test(
  "a product's accent can be read whatever colour it is, in either theme",
  async () => {
    const found: string[] = [];
    const page = await environment.signIn("", { reducedMotion: "reduce" });
    for (const place of ["", `/webhooks/${population.failing.id}?outcome=failing`, "/webhooks/new"]) {
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
  },
  TIMEOUT_MS,
);

test(
  "axe finds nothing where something is wrong, asked or shown once, in either theme",
  async () => {
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

    await page.goto(`${environment.pageUrl}/webhooks/${endpoint.id}/settings`);
    await page.getByLabel("Name").fill("Mine");
    await page.getByRole("switch", { name: "Replace signing secret" }).click();
    await environment.api.edit(endpoint.id, { name: "Theirs" });
    await save.click();
    await look("a conflict", page.getByRole("alert"));

    await page.goto(`${environment.pageUrl}/webhooks/${endpoint.id}/manual`);
    await page.getByLabel("JSON to send").fill("{");
    await look("JSON that is none", page.getByText("Correct the JSON first."));
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
    await look("nobody signed in", page.getByRole("heading", { name: "You are not signed in" }));
    expect(found).toEqual([]);
    await environment.api.delete(endpoint.id);
  },
  TIMEOUT_MS,
);

test(
  "nothing scrolls sideways on a phone, on a tablet, nor at 400 % zoom",
  async () => {
    // 1280 px at 400 % are 320 CSS px; a window zoomed like that is low as well.
    const sizes = [
      { width: 320, height: 568 },
      { width: 320, height: 256 },
      { width: 390, height: 844 },
      { width: 768, height: 1024 },
    ];
    const found = await onEveryScreen(async (page, name) => {
      const wide: string[] = [];
      for (const size of sizes) {
        await page.setViewportSize(size);
        const wider = await page.evaluate(() =>
          [document.documentElement, ...document.querySelectorAll("[role=dialog], [role=dialog] > div")]
            .filter((element) => element.scrollWidth > element.clientWidth)
            .map((element) => `${element.tagName} ${element.className}`),
        );
        for (const element of wider) wide.push(`${name} at ${size.width} x ${size.height}: ${element}`);
      }
      return wide;
    });
    expect(found).toEqual([]);
  },
  TIMEOUT_MS,
);

test("the theme is the system's until one chooses, and a choice stays", async () => {
  const page = await environment.signIn("", { colorScheme: "dark" });
  const isDark = async (): Promise<boolean> => {
    const paper = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    return Number(/[\d.]+/.exec(paper)?.[0]) < 0.5;
  };
  await page.getByRole("link", { name: "Risk radar" }).waitFor();
  expect(await isDark()).toBe(true);
  await page.getByRole("button", { name: "Appearance" }).click();
  await page
    .getByRole("menuitemradio", { name: "Light" })
    .or(page.getByRole("menuitem", { name: "Light" }))
    .click();
  expect(await isDark()).toBe(false);
  await page.reload();
  await page.getByRole("link", { name: "Risk radar" }).waitFor();
  expect(await isDark()).toBe(false);
});

test("a browser that asks for less motion gets none", async () => {
  const page = await environment.signIn(deliveryOf("healthy"), { reducedMotion: "reduce" });
  await page.getByRole("dialog").waitFor();
  expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
});

describe("the content security policy", () => {
  afterEach(() => {
    environment.takeProblems();
  });

  test("the content security policy keeps a style attribute and an inline script out, and a test fails that meets it", async () => {
    const page = await environment.signIn();
    await page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor();
    expect(environment.takeProblems()).toEqual([]);
    await page
      .evaluate(() => {
        const element = document.createElement("p");
        element.setAttribute("style", "color: red");
        const script = document.createElement("script");
        script.setAttribute("src", "data:text/javascript,0");
        document.body.append(element, script);
      })
      .catch(() => {});
    const problems = environment.takeProblems().join("\n");
    expect(problems).toMatch(/style/);
    expect(problems).toMatch(/Content Security Policy/);
  });
});
