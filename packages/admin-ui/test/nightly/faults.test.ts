import { basename } from "node:path";
import type { EndpointChangePage } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { apiClient } from "@herald/e2e/herald/api-client";
import { describe, expect, test } from "@jest/globals";
import type { Dialog, Locator, Page, Request, Route } from "playwright-core";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment();
const EVENTS = ["RiskCreated", "WorkItemCompleted"];

async function webhook(name = "Billing mirror") {
  return await environment.api.create({ name, url: environment.receiver.url, events: EVENTS });
}

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { name });
const tryAgain = (page: Page) => page.getByRole("main").getByRole("button", { name: "Try again" });

describe("a part of the page that can't be loaded", () => {
  /** Opens the page without the code of its other parts. */
  async function withoutParts(place: string, answer: (route: Route) => Promise<void>): Promise<Page> {
    const page = await environment.signIn();
    // Not the document's elements: an idle page adds links to its other parts.
    const html = await (await page.request.get(environment.pageUrl)).text();
    await page.route(/\/assets\/.*\.js$/, (route) =>
      html.includes(basename(route.request().url())) ? route.fallback() : answer(route),
    );
    await page.goto(environment.pageUrl + place);
    return page;
  }

  const answers: [string, (route: Route) => Promise<void>][] = [
    ["the network is away", (route) => route.abort("connectionrefused")],
    ["the server has it no more", (route) => route.fulfill({ status: 404, body: "" })],
  ];

  test.each(answers)("if %s, the rest of the page stays, and another try loads it", async (_why, answer) => {
    await webhook();
    const page = await withoutParts("", answer);
    await page.getByRole("link", { name: "Billing mirror" }).waitFor();
    await page.getByRole("link", { name: "Changes", exact: true }).click();
    await heading(page, "Could not load the changes").waitFor();
    await page.getByRole("link", { name: "Webhooks", exact: true }).first().click();
    await page.getByRole("link", { name: "Billing mirror" }).waitFor();
    await page.getByRole("link", { name: "New webhook" }).click();
    await heading(page, "Could not load the form").waitFor();
    await page.unroute(/\/assets\/.*\.js$/);
    await tryAgain(page).click();
    await page.getByLabel("Endpoint URL").waitFor();
    expect(environment.takeProblems()).not.toEqual([]);
  });

  test("an optional part of a scene leaves the scene usable", async () => {
    const { endpoint } = await webhook();
    await environment.api.deliver(endpoint.id, "RiskCreated", "{}");
    const page = await environment.signIn();
    await page.route(/\/assets\/ReceiverCode[^/]*\.js$/, (route) => route.abort("connectionrefused"));
    await page.goto(`${environment.pageUrl}/webhooks/${endpoint.id}/signature`);
    await heading(page, "Could not load the code").waitFor();
    await page.getByLabel("Signing secret").waitFor();
    environment.takeProblems();
  });

  test("after an update of the server, another try loads the new page", async () => {
    const page = await withoutParts("", (route) => route.fulfill({ status: 404, body: "" }));
    await page.getByRole("link", { name: "Changes", exact: true }).click();
    await heading(page, "Could not load the changes").waitFor();
    await page.unroute(/\/assets\/.*\.js$/);
    // The newest page has another script than this one.
    const isLoaded = page.waitForEvent("load");
    await page.route(/\/administration\/integrations\/$/, (route) => route.fulfill({ body: "<script src=new.js>" }));
    await tryAgain(page).click();
    await isLoaded;
    await page.getByText("Created by").or(heading(page, "No change is kept")).first().waitFor();
    environment.takeProblems();
  });

  test("parts are loaded before they are needed", async () => {
    const page = await environment.signIn();
    await eventually(async () => {
      const loaded = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
      for (const part of ["WebhookForm", "Changes", "ManualDelivery", "ReceiverCode"]) {
        expect(loaded.join("\n")).toContain(`/${part}-`);
      }
    });
    await page.context().setOffline(true);
    await page.getByRole("link", { name: "New webhook" }).first().click();
    await page.getByLabel("Endpoint URL").waitFor();
  });
});

describe("a change whose answer is lost", () => {
  /** Lets the API do what the page asks for, and loses the first answer. */
  async function loseAnswer(page: Page, method: string, path: RegExp): Promise<void> {
    let isLost = false;
    await page.route(path, async (route) => {
      if (isLost || route.request().method() !== method) return await route.fallback();
      isLost = true;
      await route.fetch();
      await route.abort("connectionreset");
    });
  }

  test("a create says that it is not known, is done once by a second press, and says that the secret is lost", async () => {
    const page = await environment.signIn("/webhooks/new");
    await loseAnswer(page, "POST", /\/webhooks$/);
    await page.getByLabel("Name").fill("Billing mirror");
    await page.getByLabel("Endpoint URL").fill(environment.receiver.url);
    await page.getByRole("checkbox", { name: "RiskCreated" }).check();
    await page.getByRole("button", { name: "Save webhook" }).click();
    await page.getByText("It is not known whether it was saved.").waitFor();
    // Other parts of the page may be looked at in between.
    await page.getByRole("link", { name: "Webhooks", exact: true }).click();
    await page.getByRole("link", { name: "New webhook" }).click();
    await page.getByRole("button", { name: "Save webhook" }).click();
    const dialog = page.getByRole("dialog", { name: "Billing mirror is saved, and its new secret is lost" });
    expect(await environment.api.list()).toHaveLength(1);
    await dialog.getByRole("button", { name: "Pause and replace" }).click();
    await page
      .getByRole("dialog", { name: "Signing secret of Billing mirror" })
      .getByTestId("signing-secret")
      .waitFor();
  });

  test("a replaced secret that was lost is replaced again, and the webhook waits meanwhile", async () => {
    const { endpoint } = await webhook();
    const page = await environment.signIn(`/webhooks/${endpoint.id}/settings`);
    await loseAnswer(page, "PUT", /\/webhooks\/[^/]+$/);
    await page.getByRole("button", { name: "Replace signing secret" }).click();
    await page.getByRole("button", { name: "Pause and replace" }).click();
    await page.getByText("It is not known whether it was replaced.").waitFor();
    await page.getByText("The webhook may be paused already, with a secret that was not shown.").waitFor();
    const again = page.getByRole("button", { name: /^(Pause and replace|Replace)$/ });
    await again.click();
    const dialog = page.getByRole("dialog", { name: "Signing secret of Billing mirror" });
    // If the second request was the same, its answer has no secret, and the page offers a third.
    await dialog.or(page.getByRole("dialog", { name: /new secret is lost$/ })).waitFor();
    for (let press = 0; press < 2 && !(await dialog.isVisible()); press += 1) await again.click();
    await dialog.getByTestId("signing-secret").waitFor();
    expect(await environment.api.get(endpoint.id)).toMatchObject({ enabled: false });
  });

  test("a deletion says that it is not known", async () => {
    const { endpoint } = await webhook();
    const page = await environment.signIn(`/webhooks/${endpoint.id}`);
    await page.route(/\/webhooks\/[^/]+$/, (route) =>
      route.request().method() === "DELETE" ? route.abort("connectionreset") : route.fallback(),
    );
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("billing  MIRROR");
    await page.getByRole("dialog").getByRole("button", { name: "Delete webhook" }).click();
    await page.getByText("It is not known whether it was deleted.").waitFor();
  });
});

describe("a network that is cut once", () => {
  interface Journey {
    /** The place where it begins. @param run names what it makes */
    place(run: string): Promise<string>;
    fill(page: Page, run: string): Promise<void>;
    /** The button that is pressed, again after each failure. */
    press: string;
    end(page: Page, run: string): Locator;
    /** How often it was done. */
    done(run: string): Promise<number>;
  }

  const journeys: Record<string, Journey> = {
    "a create": {
      place: async () => "/webhooks/new",
      fill: async (page, run) => {
        await page.getByLabel("Name").fill(run);
        await page.getByLabel("Endpoint URL").fill(environment.receiver.url);
        await page.getByRole("checkbox", { name: "RiskCreated" }).check();
      },
      press: "Save webhook",
      end: (page, run) =>
        page
          .getByRole("dialog", { name: `Signing secret of ${run}` })
          .or(page.getByRole("dialog", { name: `${run} is saved, and its new secret is lost` })),
      done: async (run) => (await environment.api.list()).filter(({ name }) => name === run).length,
    },
    "an edit": {
      place: async (run) => `/webhooks/${(await webhook(`before ${run}`)).endpoint.id}/settings`,
      fill: async (page, run) => await page.getByLabel("Name").fill(run),
      press: "Save webhook",
      end: (page, run) => page.getByRole("heading", { level: 1, name: run, exact: true }),
      done: async (run) => {
        const { id } = (await environment.api.list()).find(({ name }) => name.endsWith(run)) ?? {};
        const { changes } = await environment.api.read<EndpointChangePage>(`/${id}/changes`);
        return changes.filter(({ kind }) => kind === "edited").length;
      },
    },
    "a manual delivery": {
      place: async (run) => `/webhooks/${(await webhook(run)).endpoint.id}/manual`,
      fill: async (page, run) => await page.getByLabel("JSON to send").fill(JSON.stringify({ run })),
      press: "Send manual delivery",
      end: (page) => page.getByText("Succeeded: the receiver answered 200."),
      done: async (run) => environment.receiver.requests.filter(({ body }) => body.includes(`"${run}"`)).length,
    },
  };

  /** Goes through a journey until it is done. @returns the kinds of its requests */
  async function walk({ place, fill, press, end, done }: Journey, run: string, cut?: { kind: string; after: boolean }) {
    const page = await environment.signIn();
    const kinds = new Set<string>();
    let isCut = false;
    await page.route("**/api/**", async (route) => {
      const kind = `${route.request().method()} ${new URL(route.request().url()).pathname.replaceAll(/[0-9a-f-]{36}/g, "ID")}`;
      kinds.add(kind);
      if (isCut || kind !== cut?.kind) return await route.fallback();
      isCut = true;
      if (cut.after) await route.fetch();
      await route.abort("connectionreset");
    });
    await page.goto(environment.pageUrl + (await place(run)));
    await fill(page, run);
    let changes = 0;
    const ended = (request: Request) => {
      if (request.method() !== "GET") changes += 1;
    };
    page.on("requestfinished", ended).on("requestfailed", ended);
    const problem = page.getByRole("alert");
    for (let presses = 0; presses < 3 && !(await end(page, run).isVisible()); presses += 1) {
      await page.getByRole("button", { name: press }).click();
      // The alert of the press before stays for a moment. Another press then would wait for the button, and do it again.
      await eventually(() => expect(changes).toBeGreaterThan(presses));
      await end(page, run).or(problem).first().waitFor();
      const said = (await problem.allTextContents()).join(" ");
      // It may say that it does not know, but never that it was not done if it was.
      if (/was not (saved|sent)/i.test(said)) expect({ cut, done: await done(run) }).toEqual({ cut, done: 0 });
    }
    await end(page, run).waitFor();
    expect({ cut, done: await done(run) }).toEqual({ cut, done: 1 });
    await page.context().close();
    return kinds;
  }

  test.each(Object.entries(journeys))(
    "§4.1.1 at any request of %s, nothing is done twice and nothing false is said",
    async (_, journey) => {
      const kinds = await walk(journey, "uncut");
      expect(kinds.size).toBeGreaterThan(3);
      for (const [index, kind] of [...kinds].entries()) {
        // Only a change makes a difference between a lost request and a lost answer.
        for (const after of kind.startsWith("GET") ? [false] : [false, true])
          await walk(journey, `run ${index} ${after}`, { kind, after });
      }
    },
    600_000,
  );
});

describe("a proxy that signs people in, when its session has ended", () => {
  const answers: [string, Parameters<Route["fulfill"]>[0]][] = [
    ["a redirect to another site", { status: 302, headers: { location: "https://login.example/start" } }],
    ["a redirect to a page of its own", { status: 303, headers: { location: "/oauth2/sign_in" } }],
    ["its page and 200", { status: 200, contentType: "text/html", body: "<form>Sign in</form>" }],
    ["an empty answer and 200", { status: 200, body: "" }],
  ];

  test.each(answers)("if it answers %s, the page says so, and loads again", async (_what, answer) => {
    await webhook();
    const page = await environment.signIn("/webhooks/new");
    await page.getByLabel("Name").fill("Typed before");
    await page.getByLabel("Endpoint URL").fill(environment.receiver.url);
    await page.getByRole("checkbox", { name: "RiskCreated" }).check();
    await page.route("**/api/**", (route) => route.fulfill(answer));
    await page.getByRole("button", { name: "Save webhook" }).click();
    await page.getByText("Something in front of Herald answers in its place.").waitFor();
    expect(await page.getByText("can't be reached").count()).toBe(0);
    // Signed in again in another tab.
    await page.unroute("**/api/**");
    await page.getByText("Something in front of Herald answers in its place.").waitFor({ state: "hidden" });
    expect(await page.getByLabel("Name").inputValue()).toBe("Typed before");

    await page.getByRole("link", { name: "Cancel" }).click();
    await page.route("**/api/**", (route) => route.fulfill(answer));
    await page.goto(environment.pageUrl);
    await heading(page, "Could not load your session").waitFor();
    await page.unroute("**/api/**");
    await page.getByRole("button", { name: "Load the page again" }).click();
    await page.getByRole("link", { name: "Billing mirror" }).waitFor();
    environment.takeProblems();
  });
});

test("if another tab signs in for another organization, nothing is saved or shown of it, and the page says so", async () => {
  const { endpoint } = await webhook();
  const page = await environment.signIn("/webhooks/new");
  await page.getByLabel("Name").fill("For the first");
  await page.getByLabel("Endpoint URL").fill(environment.receiver.url);
  await page.getByRole("checkbox", { name: "RiskCreated" }).check();
  const list = await page.context().newPage();
  await list.goto(environment.pageUrl);
  await list.getByRole("link", { name: "Billing mirror" }).waitFor();
  const cookies = await page.context().cookies();

  const other = await apiClient(new URL("/apps/herald", environment.pageUrl).href, "Zürich 🚀");
  const otherPage = await environment.signIn("", { organizationId: other.organizationId });
  await page.context().addCookies(await otherPage.context().cookies());

  await page.getByRole("button", { name: "Save webhook" }).click();
  await page.getByText("You are signed in for another organization now.").waitFor();
  await page.getByText("It was not saved.").waitFor();
  expect(await other.list()).toEqual([]);
  await list.getByText("You are signed in for another organization now.").waitFor();
  expect(await list.getByRole("link", { name: "Billing mirror" }).isVisible()).toBe(true);

  // Signed in for the first one again.
  await page.context().addCookies(cookies);
  await page.getByRole("button", { name: "Save webhook" }).click();
  await page.getByRole("dialog", { name: "Signing secret of For the first" }).waitFor();
  expect((await environment.api.list()).map(({ name }) => name)).toEqual([endpoint.name, "For the first"]);
  await list.getByText("You are signed in for another organization now.").waitFor({ state: "hidden" });
});

describe("a page that the browser translates", () => {
  /** Does what Chrome's translation does: each text is taken out, and elements stand in its place. */
  const translate = (page: Page) =>
    page.evaluate(() => {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const texts: Text[] = [];
      while (walker.nextNode()) texts.push(walker.currentNode as Text);
      for (const text of texts.filter(({ data }) => data.trim() !== "")) {
        const outer = document.createElement("font");
        const inner = outer.appendChild(document.createElement("font"));
        inner.textContent = text.data.toUpperCase();
        text.replaceWith(outer);
      }
    });
  // biome-ignore lint/performance/useDomNodeTextContent: hidden texts do not count, and lines are compared
  const textOf = (page: Page) => page.locator("main").innerText();

  test("what changes shows its new state, in every part that changes", async () => {
    const { endpoint } = await webhook();
    await environment.api.deliver(endpoint.id, "RiskCreated", "{}");
    const places = ["", "/deliveries", `/webhooks/${endpoint.id}`, `/webhooks/${endpoint.id}/settings`];
    const pages = await Promise.all(places.map((place) => environment.signIn(place)));
    const shown = ["Active", "Succeeded", "Active", "Active"];
    await Promise.all(
      pages.map((page, index) =>
        page
          .getByText(shown[index] ?? "")
          .first()
          .waitFor(),
      ),
    );
    for (const page of pages) await translate(page);
    await environment.api.edit(endpoint.id, { enabled: false, name: "Renamed" });
    for (const [index, page] of pages.entries()) {
      const fresh = await environment.signIn(places[index]);
      await eventually(async () => {
        const [translated, plain] = [await textOf(page), await textOf(fresh)];
        expect(withoutTimes(translated)).toEqual(withoutTimes(plain));
      });
    }
  });

  /** What is translated again is in capitals or not, its lines break elsewhere, and times pass. */
  const withoutTimes = (text: string) =>
    text
      .toUpperCase()
      .replace(/\d+ (S|MIN) AGO|JUST NOW/g, "AGO")
      .replace(/\s+/g, " ");
});

describe("unsaved work", () => {
  /** Leaves the page by a reload that the test dismisses, and tells whether the browser asked. */
  async function isAsked(page: Page): Promise<boolean> {
    const asked = new Promise<Dialog>((resolve) => page.once("dialog", resolve));
    const left = page.reload({ waitUntil: "commit" }).then(
      () => null,
      () => null,
    );
    const dialog = await Promise.race([asked, left]);
    await dialog?.dismiss();
    return dialog !== null;
  }

  test("settings that were typed stay while one looks at another part, and the browser asks before it leaves", async () => {
    const { endpoint } = await webhook();
    const page = await environment.signIn(`/webhooks/${endpoint.id}/settings`);
    await page.getByLabel("Name").fill("Typed for ten minutes");
    await page.getByRole("link", { name: "Changes", exact: true }).click();
    await page.getByText("Created by").first().waitFor();
    await page.goBack();
    expect(await page.getByLabel("Name").inputValue()).toBe("Typed for ten minutes");
    expect(await isAsked(page)).toBe(true);
    await page.getByRole("button", { name: "Discard changes" }).click();
    expect(await page.getByLabel("Name").inputValue()).toBe("Billing mirror");
    expect(await isAsked(page)).toBe(false);
  });

  test("a payload that was typed stays until it is sent", async () => {
    const { endpoint } = await webhook();
    const page = await environment.signIn(`/webhooks/${endpoint.id}/manual`);
    await page.getByLabel("JSON to send").fill('{"typed": true}');
    await page.getByRole("link", { name: "Deliveries", exact: true }).click();
    await page.getByText("No deliveries yet").waitFor();
    await page.goBack();
    expect(await page.getByLabel("JSON to send").inputValue()).toBe('{"typed": true}');
    expect(await isAsked(page)).toBe(true);
    await page.getByRole("button", { name: "Send manual delivery" }).click();
    await page.getByText("Succeeded: the receiver answered 200.").waitFor();
    expect(await isAsked(page)).toBe(false);
  });

  test("§2.3/shown the browser asks before a secret that shows once is thrown away", async () => {
    const { endpoint } = await webhook();
    const page = await environment.signIn(`/webhooks/${endpoint.id}/settings`);
    await page.getByRole("button", { name: "Replace signing secret" }).click();
    await page.getByRole("button", { name: "Pause and replace" }).click();
    await page.getByTestId("signing-secret").waitFor();
    expect(await isAsked(page)).toBe(true);
    await page.getByRole("button", { name: "I have stored it" }).click();
    expect(await isAsked(page)).toBe(false);
  });
});

describe("an address whose filter the API refuses", () => {
  test.each([
    ["/deliveries?event=NoSuchEvent", /Event: This must be one of /],
    ["/webhooks/ID/never-got?event=NoSuchEvent", /Event: This must be one of /],
  ])("§7/400 %s is answered in words about its filter, and is not asked again", async (place, words) => {
    const { endpoint } = await webhook();
    const page = await environment.signIn();
    let refused = 0;
    page.on("response", (response) => {
      if (response.status() === 400) refused += 1;
    });
    await page.clock.install();
    await page.goto(environment.pageUrl + place.replace("ID", endpoint.id));
    await page.getByText(words).waitFor();
    await page.getByText("Change or clear the filter.").waitFor();
    expect(await page.getByText("The page asks again").count()).toBe(0);
    const before = refused;
    await page.clock.runFor(60_000);
    await page.getByText(words).waitFor();
    expect(refused).toBe(before);
  });

  test("days in the wrong order mean the time between them", async () => {
    const { endpoint } = await webhook();
    await environment.api.deliver(endpoint.id, "RiskCreated", "{}");
    const page = await environment.signIn("/deliveries?from=2999-01-01&to=2020-01-01");
    await page.getByRole("link", { name: /^Succeeded, / }).waitFor();
  });
});

test("a webhook is found and deleted by its name as one types it, whatever form of Unicode it came in", async () => {
  await webhook(" Cafe\u0301\u00a0 Zürich ");
  const [{ name } = { name: "" }] = await environment.api.list();
  expect(name).toBe("Café Zürich");
  // As an earlier version may have stored it.
  await environment.db.database.prisma.webhookEndpoint.updateMany({ data: { name: "Cafe\u0301\u00a0 Zürich" } });
  const page = await environment.signIn("/search?q=caf%C3%A9%20z%C3%BCrich");
  await page.getByRole("link", { name: /Caf/ }).first().click();
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("dialog").getByRole("textbox").fill("Café Zürich");
  await page.getByRole("dialog").getByRole("button", { name: "Delete webhook" }).click();
  await heading(page, "No webhooks yet").waitFor();
});
