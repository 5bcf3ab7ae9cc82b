import { afterAll, afterEach, beforeAll } from "@jest/globals";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { askForChromium, STACK_TIMEOUT_MS } from "./stack-client.ts";

/** A browser window with cookies and storage of its own. */
export interface BrowserWindow {
  page: Page;
  context: BrowserContext;
}

export interface TestBrowser {
  /** Opens a window; it is closed after the test. */
  open(options?: BrowserContextOptions): Promise<BrowserWindow>;
  /** Takes the problems that were found so far, so that they fail no test: for tests of the problems themselves. */
  takeProblems(): string[];
}

/** How long a test waits for something to appear before it fails. */
const WAIT_MS = 60_000;

const FLAGS = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * Gives a test file a real Chromium. Call it at the top of the file or of a `describe`.
 *
 * A test fails where a page threw, broke the content security policy, or wrote an error to its console. Failed requests are no
 * error: pages are tested on them.
 */
export function useBrowser(): TestBrowser {
  let browser: Browser | undefined;
  let problems: string[] = [];
  const open = new Set<BrowserContext>();

  beforeAll(async () => {
    const [{ executable }, { chromium }] = await Promise.all([askForChromium(), import("playwright-core")]);
    // Root, as in containers, has no sandbox.
    const chromiumSandbox = process.getuid?.() !== 0;
    browser = await chromium.launch({ executablePath: executable, args: FLAGS, chromiumSandbox });
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

  function takeProblems(): string[] {
    const found = problems;
    problems = [];
    return found;
  }

  return {
    takeProblems,
    async open(options = {}) {
      if (browser === undefined) throw new Error("The browser exists from beforeAll on, not while the file is loaded.");
      const context = await browser.newContext(options);
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
