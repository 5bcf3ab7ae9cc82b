import { insertDelivery, insertResend } from "@herald/dev/harness/rows";
import { beforeAll } from "@jest/globals";
import axe from "axe-core";
import type { Locator, Page } from "playwright-core";
import { type Population, populate } from "./populate.ts";
import type { TestEnvironment } from "./test-environment.ts";

/** Pages that are looked at side by side. */
const PAGES = 3;

/** A place of the page, and what shows that it is there. */
type Scene = [name: string, place: string, shown: (page: Page) => Locator | Promise<Locator>, main?: "main"];

interface Scenes {
  readonly population: Population;
  /** Looks at some screens, several at a time, and returns everything that was found. */
  onEach(which: "main" | "other" | "all", look: (page: Page, name: string) => Promise<string[]>): Promise<string[]>;
}

/** The screens of the page, with something to see on each. */
export function useScenes(environment: TestEnvironment): Scenes {
  let population: Population;
  let eventKey: string;
  beforeAll(async () => {
    population = await populate(environment);
    const id = population.healthy.deliveryIds[0] ?? "";
    const delivery = await environment.db.database.prisma.delivery.findFirstOrThrow({ where: { id } });
    eventKey = delivery.eventKey ?? "";
    await storeResend(environment, population.healthy.id);
    await environment.db.database.prisma.undeliveredEvent.create({
      data: {
        eventId: "b70c1219-1111-4111-8111-111111111111",
        organizationId: environment.api.organizationId,
        cause: "unknown_type",
        type: "WorkItemCompletd",
        reason: "no such type",
        cameAt: environment.clock.now(),
      },
    });
  });
  return {
    get population() {
      return population;
    },
    async onEach(which, look) {
      const scenes = scenesOf(population, eventKey);
      const rest = scenes.filter(([, , , main = "other"]) => which === "all" || main === which);
      const first = await environment.signIn("", { reducedMotion: "reduce" });
      const pages = [first, ...(await Promise.all(Array.from({ length: PAGES - 1 }, () => first.context().newPage())))];
      const found = await Promise.all(
        pages.map(async (page) => {
          const here: string[] = [];
          for (let scene = rest.shift(); scene; scene = rest.shift()) {
            const [name, place, shown] = scene;
            await page.goto(environment.pageUrl + place);
            await (await shown(page)).first().waitFor();
            here.push(...(await look(page, name)));
          }
          return here;
        }),
      );
      return found.flat();
    },
  };
}

/** A delivery that was given up, and a resend that runs. The clock stands still, so no publisher takes it. */
async function storeResend(environment: TestEnvironment, id: string): Promise<void> {
  const { prisma } = environment.db.database;
  const endpoint = { id, organizationId: environment.api.organizationId };
  const { events } = await prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });
  const now = environment.clock.now();
  const createdAt = new Date(now.getTime() - 30 * 60_000);
  const eventType = events[0] ?? "";
  const attempted = { attemptCount: 5, attemptedAt: createdAt, statusCode: 503, state: "exhausted" } as const;
  await insertDelivery(prisma, endpoint, { createdAt, eventType, ...attempted });
  await insertResend(prisma, endpoint, { startedAt: now, total: 1_000, dueAt: new Date(now.getTime() + 30 * 60_000) });
}

/** The page's scenes, of which every change is tried on those where an admin is on most days. */
function scenesOf({ failing, healthy, disabled, paused, new: fresh }: Population, eventKey: string): Scene[] {
  const of = ({ id }: { id: string }, more: string) => `/webhooks/${id}${more}`;
  return [
    ["the list", "", (page) => link(page, "Risk radar"), "main"],
    ["all events", "/events?period=24h", allEvents, "main"],
    ["all deliveries", "/deliveries?from=2026-01-01", (page) => page.locator("[data-delivery]"), "main"],
    ["all changes", "/changes", (page) => page.getByText("Created by Ana Lindqvist")],
    ["a disabled webhook's settings", of(disabled, "/settings"), (page) => page.getByText("A project is created.")],
    ["a new webhook", "/webhooks/new", (page) => page.getByText("A project is created."), "main"],
    ["a healthy webhook", of(healthy, "?period=1h"), withItsChart, "main"],
    ["a disabled webhook", of(disabled, "?outcome=parked"), (page) => button(page, "Resume…"), "main"],
    ["a paused webhook", of(paused, "?outcome=parked"), (page) => page.getByText("Paused by Ana Lindqvist")],
    ["a webhook without deliveries", of(fresh, ""), (page) => page.getByText("No deliveries yet")],
    ["a delivery", of(failing, `/deliveries/${failing.deliveryIds[0]}?outcome=failing`), upstreamTimedOut, "main"],
    ["manual delivery", of(healthy, "/manual"), (page) => button(page, "Send manual delivery"), "main"],
    ["signature", of(healthy, "/signature"), withReceiversCode],
    ["settings", of(healthy, "/settings"), (page) => page.getByText("A project is created.")],
    ["changes", of(healthy, "/changes"), (page) => page.getByText("Created by Ana Lindqvist")],
    ["what a receiver never got", of(healthy, "/never-got"), whatWasNeverGot],
    ["what a search found", `/search?q=${healthy.deliveryIds[0]}`, (page) => link(page, "event with its body")],
    ["webhooks that a search found", "/search?q=radar", (page) => link(page, "Risk radar")],
    ["an event", `/events/${eventKey}`, (page) => page.getByText("Body, as receivers get it")],
    ["nothing", "/nowhere", (page) => page.getByText("There is nothing at this address")],
  ];
}

const button = (page: Page, name: string) => page.getByRole("button", { name });
const link = (page: Page, name: string | RegExp) => page.getByRole("link", { name });
const upstreamTimedOut = (page: Page) => page.getByText("upstream timed out");

async function allEvents(page: Page): Promise<Locator> {
  await page.locator("[data-event]").first().waitFor();
  return page.getByText("Not taken");
}

async function withItsChart(page: Page): Promise<Locator> {
  await page.getByText("Show the chart as a table").click();
  return link(page, /^Succeeded, /);
}

async function withReceiversCode(page: Page): Promise<Locator> {
  await page.getByText("Expected X-Service-Signature").waitFor();
  return page.getByText("timingSafeEqual");
}

async function whatWasNeverGot(page: Page): Promise<Locator> {
  await button(page, "Send again…").waitFor();
  return button(page, "Stop");
}

const everyRule = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

export async function violations(page: Page, rules: string[]): Promise<string[]> {
  const { violations: found } = await page.evaluate(
    (runOnly) =>
      (globalThis as unknown as { axe: typeof axe }).axe.run({
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

export async function violationsInBothThemes(page: Page, name: string): Promise<string[]> {
  // Evaluated by the debugger, past the CSP that would keep it out of a <script>.
  await page.evaluate(axe.source);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  const light = await violations(page, everyRule);
  // Another theme has other colours, and nothing else.
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await violations(page, ["color-contrast"]);
  return [...light.map((each) => `${name}, light: ${each}`), ...dark.map((each) => `${name}, dark: ${each}`)];
}
