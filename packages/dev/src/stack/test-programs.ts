import { homedir } from "node:os";
import { join } from "node:path";
import { localFolder } from "./folders.ts";
import { findOrInstall, type Installable } from "./install-package.ts";
import type { MariadbPrograms } from "./mariadb.ts";
import { findProgram, findWorkingProgram, isExecutable, runProgram, succeeds } from "./programs.ts";

export interface GoProgram {
  executable: string;
}

/** Mono compiles and runs C#. */
export interface MonoPrograms {
  compiler: string;
  runtime: string;
}

/** What the tests of the chart need; Debian's Go may be older. */
const GO = { minor: 24, version: "1.24.5" };
const FETCH_TIMEOUT_MS = 10 * 60_000;

/** What compiles or runs the examples in other languages; Go and Mono have functions of their own. */
const LANGUAGES = {
  // Debian's `cargo` is too old for today's crates. This one Debian keeps current, for its browsers.
  cargo: { title: "Rust", apt: "cargo-web", brew: ["rust"] },
  javac: { title: "Java", apt: "default-jdk-headless", brew: ["openjdk"] },
  mvn: { title: "Maven", apt: "maven", brew: ["maven"] },
  php: { title: "PHP", apt: "php-cli", brew: ["php"] },
  // Homebrew has no package of the library: add it to the include path of PHP there.
  "php-amqplib": { title: "PHP with php-amqplib", apt: "php-cli php-amqplib", brew: ["php"] },
  python3: { title: "Python 3", apt: "python3 python3-pip", brew: ["python"] },
  ruby: { title: "Ruby", apt: "ruby ruby-webrick", brew: ["ruby"] },
} satisfies Record<string, Installable>;

export type LanguageProgram = keyof typeof LANGUAGES;

export const LANGUAGE_PROGRAMS = Object.keys(LANGUAGES) as LanguageProgram[];

/** Finds or installs a language's program. */
export function findOrInstallLanguage(name: LanguageProgram): Promise<string> {
  const language = LANGUAGES[name];
  const folders = [join(homedir(), ".cargo", "bin")];
  const askVersion = name === "javac" ? ["-version"] : ["--version"];
  const find = WITH_LIBRARY[name] ?? (() => findWorkingProgram(name, askVersion, folders));
  return findOrInstall<string>(language, `Examples in ${language.title}`, find);
}

/** Programs that are of no use without a library, which Debian has in a package of its own. */
const WITH_LIBRARY: Partial<Record<LanguageProgram, () => Promise<string | undefined>>> = {
  "php-amqplib": findPhpWithAmqplib,
  python3: findPythonWithPip,
};

/** PHP, where it finds its library for RabbitMQ. */
async function findPhpWithAmqplib(): Promise<string | undefined> {
  const php = findProgram("php");
  const finds = 'exit(stream_resolve_include_path("PhpAmqpLib/autoload.php") ? 0 : 1);';
  return php !== undefined && (await succeeds(php, ["-r", finds])) ? php : undefined;
}

/** Python, where it can install packages. */
async function findPythonWithPip(): Promise<string | undefined> {
  const python = findProgram("python3");
  return python !== undefined && (await succeeds(python, ["-m", "pip", "--version"])) ? python : undefined;
}

/** Finds a Chromium: the one that CHROMIUM_PATH names, else an installed one, else it installs one. */
export async function findOrInstallChromium(): Promise<string> {
  const chromium = { title: "Chromium", apt: "chromium", brew: ["--cask", "chromium"] };
  const names = ["chromium", "google-chrome-stable", "google-chrome", "chromium-browser"];
  const applications = [
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  ];
  return (
    process.env.CHROMIUM_PATH ||
    (await findOrInstall(
      chromium,
      "Tests of the admin page",
      () => names.map((name) => findProgram(name)).find(Boolean) ?? applications.find(isExecutable),
    ))
  );
}

/** Finds or installs Mono. */
export function findOrInstallMono(): Promise<MonoPrograms> {
  const mono = { title: "Mono", apt: "mono-mcs mono-runtime", brew: ["mono"] };
  return findOrInstall(mono, "Tests of examples in C#", () => {
    const [compiler, runtime] = [findProgram("mcs"), findProgram("mono")];
    return compiler && runtime ? { compiler, runtime } : undefined;
  });
}

/** Finds or installs PgBouncer. */
export function findOrInstallPgbouncer(): Promise<string> {
  const pgbouncer = { title: "PgBouncer", apt: "pgbouncer", brew: ["pgbouncer"] };
  return findOrInstall(pgbouncer, "Tests behind a pooler", () => findProgram("pgbouncer", ["/usr/sbin"]));
}

/** Finds or installs MariaDB's server: the programs only, no service of the system. */
export function findOrInstallMariadb(): Promise<MariadbPrograms> {
  const mariadb = { title: "MariaDB", apt: "mariadb-server-core mariadb-client-core", brew: ["mariadb"] };
  return findOrInstall(mariadb, "Tests of the outbox in MariaDB", () => {
    const [installDb, server] = [findProgram("mariadb-install-db"), findProgram("mariadbd", ["/usr/sbin"])];
    // What makes the data folder asks it.
    const defaults = findProgram("my_print_defaults");
    return installDb && server && defaults ? { installDb, server } : undefined;
  });
}

/** Finds or installs Go, and fetches a newer one through the module proxy where the installed one is too old. */
export async function findOrInstallGo(): Promise<GoProgram> {
  const go = { title: "Go", apt: "golang-go", brew: ["go"] };
  const installed = await findOrInstall(go, "Tests of the chart and of examples in Go", () =>
    findProgram("go", ["/usr/local/go/bin", "/opt/homebrew/bin"]),
  );
  const version = await runProgram(installed, ["env", "GOVERSION"], { what: "Asking Go for its version" });
  const minor = Number(/^go1\.(\d+)/.exec(version)?.[1] ?? 0);
  return { executable: minor >= GO.minor ? installed : await fetchGo(installed) };
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
