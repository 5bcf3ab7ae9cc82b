import { expect, jest, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { useScenes } from "../support/scenes.ts";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment({ sharedOrganization: true });
const scenes = useScenes(environment);

// For a machine that is ten times slower.
jest.setTimeout(1_200_000);

/** 1280 px at 400 % are 320 CSS px, in a window that is low as well. */
const SIZES = [
  [320, 256],
  [320, 568],
  [390, 844],
  [768, 1024],
  [961, 800],
  [1100, 800],
  [1280, 800],
  [1600, 900],
] as const;

/** What people do to a page: each goes on from the one before. */
const CHANGES: Record<string, () => void> = {
  "as it is": () => {},
  "in a wide face": () => document.documentElement.style.setProperty("--sans", '"DejaVu Sans", Verdana'),
  "with the spacing of WCAG 1.4.12": () => {
    document.documentElement.style.removeProperty("--sans");
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(
      "* { letter-spacing: 0.12em !important; word-spacing: 0.16em !important; line-height: 1.5 !important } p { margin-block-end: 2em !important }",
    );
    document.adoptedStyleSheets = [sheet];
  },
  translated: () => {
    document.adoptedStyleSheets = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode as Text;
      // Names of events, addresses and ids stay.
      if (!/[a-z][A-Z]|:\/\//.test(text.data) && !text.parentElement?.closest("code"))
        text.data = text.data.replace(/[aeiou]/g, "$&$&");
    }
  },
};

/** In the page: what is wider than its place, lies on something else, or breaks within a word where it must not. */
function misplaced(): string[] {
  const WHOLE = "thead th, [class*=_badge_], [class*=_numbers_], button, nav a, legend, dt, [class*=_choice_]";
  const found: string[] = [];
  for (const element of [document.documentElement, ...document.querySelectorAll("dialog, dialog > div")])
    if (element.scrollWidth > element.clientWidth) {
      const end = element.getBoundingClientRect().left + element.clientWidth;
      const widest = [...element.querySelectorAll("*")].findLast(
        (each) => each.getBoundingClientRect().right > end + 1,
      );
      found.push(`scrolls sideways: ${element.tagName}, by ${widest?.outerHTML.slice(0, 200)}`);
    }

  const root = document.querySelector("dialog[open]") ?? document.body;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const lines: { left: number; right: number; top: number; bottom: number; text: Text }[] = [];
  while (walker.nextNode()) {
    const text = walker.currentNode as Text;
    const parent = text.parentElement;
    if (text.data.trim() === "" || !parent?.checkVisibility({ visibilityProperty: true })) continue;
    const around: Element[] = [];
    for (let each: Element | null = parent; each; each = each.parentElement) around.push(each);
    // Unseen, or in a layer above the others.
    if (around.some((each) => getComputedStyle(each).clipPath !== "none" || each.matches("[popover], option")))
      continue;
    if (around.some((each) => each !== root && /sticky|fixed/.test(getComputedStyle(each).position))) continue;

    const range = document.createRange();
    if (parent.closest(WHOLE)) {
      for (const word of text.data.matchAll(/[^\s\-–…/.,:]+/gu)) {
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (tops.size > 1) found.push(`breaks within a word: ${word[0]}`);
      }
    }
    range.selectNodeContents(text);
    const clips = around.filter((each) => getComputedStyle(each).overflow !== "visible");
    const cell = parent.closest("td, th");
    for (const rect of range.getClientRects()) {
      let { left, right, top, bottom } = rect;
      for (const clip of clips) {
        const box = clip.getBoundingClientRect();
        [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
        [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
      }
      if (right - left < 1 || bottom - top < 1) continue;
      lines.push({ left, right, top, bottom, text });
      // Some are cut off on purpose, with an ellipsis.
      if (!cell || getComputedStyle(cell).overflow !== "visible") continue;
      const box = cell.getBoundingClientRect();
      const { paddingLeft, paddingRight } = getComputedStyle(cell);
      if (
        left < box.left + Number.parseFloat(paddingLeft) - 1 ||
        right > box.right - Number.parseFloat(paddingRight) + 1
      )
        found.push(`leaves its cell: ${text.data}`);
    }
  }
  for (const [index, one] of lines.entries()) {
    for (const other of lines.slice(index + 1)) {
      const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (width > 1 && height > 3 && one.text !== other.text)
        found.push(`lie on one another: ${one.text.data} and ${other.text.data}`);
    }
  }
  return [...new Set(found)];
}

test("no heading, badge, number or control breaks within a word or touches its neighbour, and nothing scrolls sideways", async () => {
  const found = await scenes.onEach("all", async (page, name) => {
    const here: string[] = [];
    for (const [changed, change] of Object.entries(CHANGES)) {
      await page.evaluate(change);
      for (const [width, height] of SIZES) {
        await page.setViewportSize({ width, height });
        const bad = await page.evaluate(misplaced);
        here.push(...bad.map((each) => `${name}, ${changed}, ${width} x ${height}: ${each}`));
      }
    }
    return here;
  });
  expect(found).toEqual([]);
});

/** What hangs out of the text of the dialog that is open, into its padding. */
const hanging = (page: Page) =>
  page.locator("dialog > [class*=_body_]").evaluate((body) => {
    const { paddingLeft, paddingRight } = getComputedStyle(body);
    const box = body.getBoundingClientRect();
    return [...body.querySelectorAll("p, li, code, button, input, label")]
      .filter((each) => {
        const { left, right } = each.getBoundingClientRect();
        return (
          left < box.left + Number.parseFloat(paddingLeft) - 1 ||
          right > box.right - Number.parseFloat(paddingRight) + 1
        );
      })
      .map((each) => each.textContent);
  });

test("regression: what a dialog has to press is in line with its text", async () => {
  const { endpoint } = await environment.api.create({ name: "Ledger", url: environment.receiver.url });
  const page = await environment.signIn(`/webhooks/${endpoint.id}/settings`);
  await page.getByRole("button", { name: "Replace signing secret" }).click();
  expect(await hanging(page)).toEqual([]);
  await page.getByRole("button", { name: "Pause and replace" }).click();
  const resume = page.getByRole("button", { name: "Resume", exact: true });
  await resume.waitFor();
  expect(await hanging(page)).toEqual([]);
  environment.receiver.answerWith({ status: 500, body: "no room" });
  await resume.click();
  await page.getByRole("button", { name: "Send a sample" }).click();
  const answer = page.getByText("The receiver answered:");
  await answer.waitFor();
  expect(await hanging(page)).toEqual([]);
  const [notice, words] = await Promise.all([
    page.locator("dialog [class*=_notice_]").last().boundingBox(),
    answer.boundingBox(),
  ]);
  expect((words?.y ?? 0) - (notice?.y ?? 0) - (notice?.height ?? 0)).toBeGreaterThanOrEqual(8);
  environment.receiver.answerWith({ status: 200 });
  await environment.api.delete(endpoint.id);
});

test("regression: a list begins at the same line as the title above it", async () => {
  const page = await environment.signIn(`/webhooks/${scenes.population.healthy.id}`);
  await page.locator("[data-delivery]").first().waitFor();
  const panel = page.getByRole("region", { name: "Deliveries" });
  const left = (role: "columnheader" | "heading", name: string) =>
    panel.getByRole(role, { name, exact: true }).evaluate((element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      return range.getBoundingClientRect().left;
    });
  expect(await left("columnheader", "Outcome")).toBe(await left("heading", "Deliveries"));
});
