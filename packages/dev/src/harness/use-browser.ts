import { afterAll, afterEach, beforeAll } from "@jest/globals";
import type { Browser, BrowserContext, BrowserContextOptions } from "playwright-core";
import { askForProgram, STACK_TIMEOUT_MS } from "./stack-client.ts";

/** How long a test waits for something to appear before it fails. */
const WAIT_MS = 60_000;

/**
 * Gives a test file a real Chromium, or the Firefox that PAGE_BROWSER=firefox asks for. Call it at the top of the file or of a `describe`.
 *
 * A test fails where a page threw, broke the content security policy, or wrote an error to its console. Failed requests are no
 * error: pages are tested on them.
 */
export function useBrowser() {
  let browser: Browser | undefined;
  let problems: string[] = [];
  const open = new Set<BrowserContext>();

  beforeAll(async () => {
    browser = await launch(process.env.PAGE_BROWSER || "chromium");
  }, STACK_TIMEOUT_MS);

  afterEach(async () => {
    for (const context of open) await context.close();
    open.clear();
    const found = takeProblems();
    if (found.length > 0) throw new Error(`The page has problems:\n${found.join("\n")}`);
  });

  afterAll(async () => {
    await browser?.close();
  });

  /** Takes the problems that were found so far, so that they fail no test: for tests of the problems themselves. */
  function takeProblems(): string[] {
    const found = problems;
    problems = [];
    return found;
  }

  return {
    takeProblems,
    /** Opens a window with cookies and storage of its own; it is closed after the test. */
    async open(options: BrowserContextOptions = {}) {
      if (browser === undefined) throw new Error("The browser exists from beforeAll on, not while the file is loaded.");
      const context = await newContext(browser, options);
      open.add(context);
      context.setDefaultTimeout(WAIT_MS);
      context.on("weberror", (error) => problems.push(`It threw: ${error.error().stack ?? error.error()}`));
      context.on("console", (message) => {
        const isFailedRequest = message.text().startsWith("Failed to load resource");
        if (message.type() === "error" && !isFailedRequest) problems.push(message.text());
      });
      return { context, page: await context.newPage() };
    },
  };
}

async function launch(name: string): Promise<Browser> {
  if (name !== "chromium" && name !== "firefox") throw new Error(`PAGE_BROWSER is chromium or firefox, not ${name}.`);
  const [{ executable }, { chromium, firefox }] = await Promise.all([askForProgram(name), import("playwright-core")]);
  // Root, as in containers, has no sandbox.
  const chromiumSandbox = process.getuid?.() !== 0;
  if (name === "chromium") return await chromium.launch({ executablePath: executable, chromiumSandbox });
  // This channel is a Firefox as it is released, driven by WebDriver BiDi.
  const firefoxUserPrefs = { "dom.events.testing.asyncClipboard": true };
  const browser = await firefox.launch({ channel: "moz-firefox", executablePath: executable, firefoxUserPrefs });
  doWithoutMediaFeatures(browser);
  return browser;
}

async function newContext(browser: Browser, options: BrowserContextOptions): Promise<BrowserContext> {
  if (browser.browserType().name() === "chromium")
    return await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"], ...options });
  const context = await browser.newContext(options);
  await context.addInitScript(INSERT_TEXT);
  return context;
}

/** Playwright's own function for Firefox sets a field's value by a script, of which React learns nothing. The command is like a paste. */
const INSERT_TEXT = `Object.defineProperty(window, "__pw_bidiInsertText", {
  get: () => (text) => void document.execCommand("insertText", false, text),
  set() {},
})`;

/** Playwright sets media features in each window. Firefox ESR 153 does not know the command, and there would be no window. */
function doWithoutMediaFeatures(browser: Browser): void {
  type Session = { send(method: string, params: object): Promise<unknown> };
  const inside = browser as unknown as { _connection: { toImpl(of: Browser): { _browserSession: Session } } };
  const session: Session = Object.getPrototypeOf(inside._connection.toImpl(browser)._browserSession);
  const { send } = session;
  session.send = async function (method, params) {
    return method === "emulation.setMediaFeaturesOverride" ? {} : await send.call(this, method, params);
  };
}
