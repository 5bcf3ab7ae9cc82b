import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { projectFolder } from "@herald/devkit/stack";
import { test } from "@jest/globals";
import type { Page } from "playwright-core";
import { populate } from "../test/support/populate.ts";
import { useWorld } from "../test/support/world.ts";

const folder = process.env.SCREENSHOTS ?? join(projectFolder(), "docs", "images");
const world = useWorld();

const settled = async (page: Page): Promise<void> => {
  await page.waitForLoadState("networkidle").catch(() => {});
  await page.evaluate(() => document.fonts.ready);
};

/** Takes the pictures of the README, against the real services. Run by `pnpm screenshots`. */
test("the README's pictures are taken", async () => {
  await mkdir(folder, { recursive: true });
  const { disabled, failing } = await populate(world);
  const scenes = {
    list: "",
    webhook: `/webhooks/${disabled.id}`,
    delivery: `/webhooks/${failing.id}/deliveries/${failing.deliveryIds[0]}`,
  };
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await world.signIn("", {
      colorScheme,
      reducedMotion: "reduce",
      viewport: { width: 1280, height: 800 },
      deviceScaleFactor: 1.5,
    });
    for (const [name, place] of Object.entries(scenes)) {
      await page.goto(world.pageUrl + place);
      await settled(page);
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
    }
  }
}, 120_000);
