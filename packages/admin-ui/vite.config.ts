import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, type ProxyOptions } from "vite";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig(({ command }) => ({
  root: here("."),
  // Built assets are addressed relative to <base>, which the server writes: BASE_PATH is not known here.
  base: command === "build" ? "./" : "/administration/integrations/",
  plugins: [react()],
  resolve: { conditions: ["herald-source", "module", "browser", "development|production"] },
  server: { proxy: runningHerald() },
  build: {
    target: ["chrome123", "firefox121", "safari17.5"],
    // A data: URL for a small asset would be one more thing for the CSP to allow.
    assetsInlineLimit: 0,
    // A stylesheet of a part that fails to load would not be asked for again.
    cssCodeSplit: false,
    reportCompressedSize: false,
    // How long a plugin took says more about the machine than about the build.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
}));

/** While the page is worked on, its API is the one that `pnpm start` runs, with the token that it made. */
function runningHerald(): Record<string, ProxyOptions> {
  const runFile = here("../../.local/run.json");
  if (!existsSync(runFile)) return {};
  const { apiUrl, token } = JSON.parse(readFileSync(runFile, "utf8"));
  return { "/api": { target: apiUrl, headers: { authorization: `Bearer ${token}` } } };
}
