import { join } from "node:path";
import { localFolder } from "./folders.ts";
import { findOrInstall } from "./install-package.ts";
import { findProgram, runProgram, succeeds } from "./programs.ts";

/** The Go that the tests of the chart need; Debian's may be older. */
const GO = { minor: 24, version: "1.24.5" };
const FETCH_TIMEOUT_MS = 10 * 60_000;

const ofLanguage =
  (title: string, program: string, apt = program) =>
  () =>
    findOrInstall({ title, apt }, "Examples in other languages", () => findProgram(program));

/** Finds or installs each program that tests run, and returns its file. */
export const TEST_PROGRAMS = {
  cargo: ofLanguage("Rust", "cargo"),
  chromium: () => findOrInstallBrowser("chromium"),
  firefox: () => findOrInstallBrowser("firefox"),
  go: findOrInstallGo,
  javac: ofLanguage("a JDK", "javac", "default-jdk-headless"),
  mcs: ofLanguage("Mono", "mcs", "mono-mcs mono-runtime libmono-system-core4.0-cil"),
  mvn: ofLanguage("Maven", "mvn", "maven"),
  php: ofLanguage("PHP", "php", "php-cli"),
  ruby: ofLanguage("Ruby", "ruby"),
  pgbouncer: () => {
    const pgbouncer = { title: "PgBouncer", apt: "pgbouncer" };
    return findOrInstall(pgbouncer, "Tests behind a pooler", () => findProgram("pgbouncer", ["/usr/sbin"]));
  },
  /** One that can install packages. */
  python: () => {
    const python = { title: "Python 3", apt: "python3 python3-pip" };
    return findOrInstall(python, "Examples and tools in Python", async () => {
      const found = findProgram("python3");
      return found !== undefined && (await succeeds(found, ["-m", "pip", "--version"])) ? found : undefined;
    });
  },
} satisfies Record<string, () => Promise<string>>;

const BROWSERS = {
  chromium: {
    title: "Chromium",
    names: ["chromium", "google-chrome-stable", "google-chrome", "chromium-browser"],
    apt: "chromium",
  },
  firefox: {
    title: "Firefox",
    names: ["firefox-esr", "firefox"],
    apt: "firefox-esr",
  },
};

/** Finds a browser: the one that CHROMIUM_PATH or FIREFOX_PATH names, else an installed one, else it installs one. */
async function findOrInstallBrowser(name: keyof typeof BROWSERS): Promise<string> {
  const { names, ...browser } = BROWSERS[name];
  const find = () => names.map((each) => findProgram(each)).find(Boolean);
  const given = process.env[`${name.toUpperCase()}_PATH`];
  return given || (await findOrInstall(browser, "Tests of the admin page", find));
}

/** Finds or installs Prometheus: the programs only, no service of the system. */
export function findOrInstallPrometheus(): Promise<{ prometheus: string; promtool: string }> {
  const what = { title: "Prometheus", apt: "prometheus" };
  return findOrInstall(what, "Tests of the alerts", () => {
    const [prometheus, promtool] = [findProgram("prometheus"), findProgram("promtool")];
    return prometheus && promtool ? { prometheus, promtool } : undefined;
  });
}

/** Finds or installs Go, and fetches a newer one through the module proxy where the installed one is too old. */
async function findOrInstallGo(): Promise<string> {
  const go = { title: "Go", apt: "golang-go" };
  const installed = await findOrInstall(go, "Tests of the chart", () => findProgram("go", ["/usr/local/go/bin"]));
  const version = await runProgram(installed, ["env", "GOVERSION"], { what: "Asking Go for its version" });
  const minor = Number(/^go1\.(\d+)/.exec(version)?.[1] ?? 0);
  return minor >= GO.minor ? installed : await fetchGo(installed);
}

async function fetchGo(installed: string): Promise<string> {
  const platform = await runProgram(installed, ["env", "GOOS", "GOARCH"], { what: "Asking Go for its platform" });
  const module = `golang.org/toolchain@v0.0.1-go${GO.version}.${platform.trim().replace("\n", "-")}`;
  const answer = await runProgram(installed, ["mod", "download", "-json", module], {
    what: `Fetching Go ${GO.version} through the module proxy`,
    timeoutMs: FETCH_TIMEOUT_MS,
    // Outside every module, since the one of this checkout, if there is any, is not meant.
    cwd: localFolder(),
  });
  const { Dir: folder } = JSON.parse(answer) as { Dir: string };
  // Modules hold no executable files; a Go that knows toolchains would do the same.
  const programs = ["bin", join("pkg", "tool")].map((name) => join(folder, name));
  await runProgram("chmod", ["-R", "u+x", ...programs], { what: `Making Go ${GO.version} executable` });
  return join(folder, "bin", "go");
}
