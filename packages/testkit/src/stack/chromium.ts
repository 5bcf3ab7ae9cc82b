import { installPackage, waysToInstall } from "./install-package.ts";
import { findProgram, isExecutable } from "./programs.ts";

const CHROMIUM = { title: "Chromium", apt: "chromium", brew: ["--cask", "chromium"] };

const NAMES = ["chromium", "google-chrome-stable", "google-chrome", "chromium-browser"];
const APPLICATIONS = [
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/**
 * Finds a Chromium by the first way that works: CHROMIUM_PATH, an installed one, installing it.
 *
 * @returns its executable
 * @throws one message that says what was tried and what to do, where none works
 */
export async function findOrInstallChromium(): Promise<string> {
  const own = process.env.CHROMIUM_PATH;
  if (own) return own;
  const installed = findChromium();
  if (installed !== undefined) return installed;
  const { usable, whyNone } = await waysToInstall(CHROMIUM);
  let failure = whyNone;
  if (usable !== undefined) {
    await installPackage(CHROMIUM, usable).catch((error: Error) => {
      failure = error.message;
    });
  }
  const found = findChromium();
  if (found !== undefined) return found;
  throw new Error(
    [
      "The tests of the admin page need Chromium or Chrome and found none:",
      "  - CHROMIUM_PATH is not set.",
      "  - None is installed.",
      `  - ${failure.replaceAll("\n", "\n    ")}`,
      "Install one, or set CHROMIUM_PATH to its executable. Then run the command again.",
    ].join("\n"),
  );
}

function findChromium(): string | undefined {
  return NAMES.map((name) => findProgram(name)).find(Boolean) ?? APPLICATIONS.find(isExecutable);
}
