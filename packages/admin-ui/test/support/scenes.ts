import { idAt, insertDelivery, insertResend } from "@herald/dev/harness/rows";
import { beforeAll } from "@jest/globals";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { type Population, populate } from "./populate.ts";
import type { TestEnvironment } from "./test-environment.ts";

/** Pages that are looked at side by side. */
const PAGES = 3;

/** A place of the page, and how to see that it is there. */
interface Scene {
  name: string;
  /** Whether an admin is there on most days: every change is tried on these. */
  main?: true;
  place: () => string;
  ready: (page: Page) => Promise<unknown>;
}

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
  const scenes = scenesOf(
    () => population,
    () => eventKey,
  );
  return {
    get population() {
      return population;
    },
    async onEach(which, look) {
      const rest = scenes.filter(({ main = false }) => which === "all" || main === (which === "main"));
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
  const attempted = { attemptCount: 5, attemptedAt: createdAt, statusCode: 503 };
  await insertDelivery(prisma, endpoint, {
    id: idAt(createdAt),
    createdAt,
    eventType,
    state: "exhausted",
    ...attempted,
  });
  await insertResend(prisma, endpoint, { startedAt: now, total: 1_000, dueAt: new Date(now.getTime() + 30 * 60_000) });
}

function scenesOf(population: () => Population, eventKey: () => string): Scene[] {
  const deliveryOf = (story: "failing" | "healthy"): string => {
    const { id, deliveryIds } = population()[story];
    return `/webhooks/${id}/deliveries/${deliveryIds[0]}`;
  };
  return [
    {
      name: "the list",
      main: true,
      place: () => "",
      ready: (page) => page.getByRole("link", { name: "Risk radar" }).waitFor(),
    },
    {
      name: "all events",
      main: true,
      place: () => "/events?period=24h",
      ready: async (page) => {
        await page.locator("[data-event]").first().waitFor();
        await page.getByText("Not taken").first().waitFor();
      },
    },
    {
      name: "all deliveries",
      main: true,
      place: () => "/deliveries?from=2026-01-01",
      ready: (page) => page.locator("[data-delivery]").first().waitFor(),
    },
    {
      name: "all changes",
      place: () => "/changes",
      ready: (page) => page.getByText("Created by Ana Lindqvist").first().waitFor(),
    },
    {
      name: "a disabled webhook's settings",
      place: () => `/webhooks/${population().disabled.id}/settings`,
      ready: (page) => page.getByText("A project is created.").waitFor(),
    },
    {
      name: "a new webhook",
      main: true,
      place: () => "/webhooks/new",
      ready: (page) => page.getByText("A project is created.").waitFor(),
    },
    {
      name: "a healthy webhook",
      main: true,
      place: () => `/webhooks/${population().healthy.id}?period=1h`,
      ready: async (page) => {
        await page.locator(".uplot canvas").waitFor();
        await page.getByText("Show the chart as a table").click();
        await page
          .getByRole("link", { name: /^Succeeded, / })
          .first()
          .waitFor();
      },
    },
    {
      name: "a disabled webhook",
      main: true,
      place: () => `/webhooks/${population().disabled.id}?outcome=parked`,
      ready: (page) => page.getByRole("button", { name: "Resume…" }).waitFor(),
    },
    {
      name: "a paused webhook",
      place: () => `/webhooks/${population().paused.id}?outcome=parked`,
      ready: (page) => page.getByText("Paused by Ana Lindqvist").waitFor(),
    },
    {
      name: "a webhook without deliveries",
      place: () => `/webhooks/${population().new.id}`,
      ready: (page) => page.getByText("No deliveries yet").waitFor(),
    },
    {
      name: "a delivery",
      main: true,
      place: () => `${deliveryOf("failing")}?outcome=failing`,
      ready: (page) => page.getByText("upstream timed out").waitFor(),
    },
    {
      name: "manual delivery",
      main: true,
      place: () => `/webhooks/${population().healthy.id}/manual`,
      ready: (page) => page.getByRole("button", { name: "Send manual delivery" }).waitFor(),
    },
    {
      name: "signature",
      place: () => `/webhooks/${population().healthy.id}/signature`,
      ready: async (page) => {
        await page.getByText("Expected X-Service-Signature").waitFor();
        await page.getByText("timingSafeEqual").first().waitFor();
      },
    },
    {
      name: "settings",
      place: () => `/webhooks/${population().healthy.id}/settings`,
      ready: (page) => page.getByText("A project is created.").waitFor(),
    },
    {
      name: "changes",
      place: () => `/webhooks/${population().healthy.id}/changes`,
      ready: (page) => page.getByText("Created by Ana Lindqvist").waitFor(),
    },
    {
      name: "what a receiver never got",
      place: () => `/webhooks/${population().healthy.id}/never-got`,
      ready: async (page) => {
        await page.getByRole("button", { name: "Send again…" }).waitFor();
        await page.getByRole("button", { name: "Stop" }).waitFor();
      },
    },
    {
      name: "what a search found",
      place: () => `/search?q=${population().healthy.deliveryIds[0]}`,
      ready: (page) => page.getByRole("link", { name: "event with its body" }).first().waitFor(),
    },
    {
      name: "webhooks that a search found",
      place: () => "/search?q=radar",
      ready: (page) => page.getByRole("link", { name: "Risk radar" }).waitFor(),
    },
    {
      name: "an event",
      place: () => `/events/${eventKey()}`,
      ready: (page) => page.getByText("Body, as receivers get it").waitFor(),
    },
    {
      name: "nothing",
      place: () => "/nowhere",
      ready: (page) => page.getByText("There is nothing at this address").waitFor(),
    },
  ];
}

const everyRule = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

export async function violations(page: Page, rules: string[]): Promise<string[]> {
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
