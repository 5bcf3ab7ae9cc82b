import axe from "axe-core";
import type { Page } from "playwright-core";

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
