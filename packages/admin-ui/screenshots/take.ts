import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { populate } from "../test/support/populate.ts";
import { useTestEnvironment } from "../test/support/test-environment.ts";

const folder = process.env.SCREENSHOTS ?? join(projectFolder(), "docs", "images");
/** What a picture may weigh: a README is read over slow lines too. */
const MOST_BYTES = 200 * 1024;
const WIDTH_PX = 1280;
/** Sharp on the screens that most have by now. */
const SCALE = 2;
const environment = useTestEnvironment();

interface Picture {
  name: string;
  place: string;
  heightPx: number;
  ready: (page: Page) => Promise<unknown>;
}

/** Takes the pictures of the README, against the real services. Run by `pnpm screenshots`. */
test("the README's pictures are taken", async () => {
  await mkdir(folder, { recursive: true });
  const { disabled, failing, busy } = await populate(environment);
  const delivered = (page: Page) => page.locator("[data-delivery]").nth(4).waitFor();
  const pictures: Picture[] = [
    {
      name: "list",
      place: "",
      heightPx: 1145,
      ready: (page) => page.getByRole("link", { name: "Timesheet export" }).waitFor(),
    },
    {
      name: "webhook",
      place: `/webhooks/${disabled.id}`,
      heightPx: 1210,
      ready: async (page) => {
        await page.locator(".uplot canvas").waitFor();
        await delivered(page);
      },
    },
    {
      name: "delivery",
      place: `/webhooks/${failing.id}/deliveries/${failing.deliveryIds[1]}`,
      heightPx: 1000,
      ready: async (page) => {
        await delivered(page);
        await page.getByText("upstream timed out").first().waitFor();
      },
    },
    {
      name: "signature",
      place: `/webhooks/${busy.id}/signature`,
      heightPx: 1000,
      ready: async (page) => {
        await page.getByLabel("Signing secret").fill("tqGk1Pz0vQ9u4m2l8J7hF3kD5sA6pW1xC0eR9tYbNvQ=");
        await page.getByRole("group", { name: "expected signature" }).waitFor();
        await page.getByText("timingSafeEqual").first().waitFor();
      },
    },
  ];
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await environment.signIn("", { colorScheme, reducedMotion: "reduce", deviceScaleFactor: SCALE });
    for (const { name, place, heightPx, ready } of pictures) {
      await page.setViewportSize({ width: WIDTH_PX, height: heightPx });
      await page.goto(environment.pageUrl + place);
      await ready(page);
      const picture = await takeWebp(page, heightPx);
      await writeFile(join(folder, `${name}-${colorScheme}.webp`), picture);
      expect(picture.length).toBeLessThan(MOST_BYTES);
    }
  }
}, 240_000);

/** Playwright takes PNG and JPEG; WebP is a quarter of the one and keeps the letters that the other smears. */
async function takeWebp(page: Page, heightPx: number): Promise<Buffer> {
  await page.evaluate(() => document.fonts.ready);
  const browser = await page.context().newCDPSession(page);
  // It measures in CSS pixels unless told otherwise.
  const clip = { x: 0, y: 0, width: WIDTH_PX, height: heightPx, scale: SCALE };
  const { data } = await browser.send("Page.captureScreenshot", { format: "webp", quality: 72, clip });
  await browser.detach();
  return Buffer.from(data, "base64");
}
