import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { localFolder } from "./folders.ts";
import { findProgram, runProgram } from "./programs.ts";

export interface PrometheusPrograms {
  prometheus: string;
  promtool: string;
}

/** The package lists of a machine that has none, and the package. */
const FETCH_TIMEOUT_MS = 5 * 60_000;

/**
 * Finds Prometheus by the first way that works: installed, unpacked by an earlier run, Debian's package unpacked into the
 * local folder. Nothing is installed: the package would start a Prometheus and a node exporter of the system's, and
 * unpacking needs no rights.
 *
 * @param folder where the package is unpacked
 * @throws one message that says what was tried and what to do, where none works
 */
export async function findOrFetchPrometheus(folder = join(localFolder(), "prometheus")): Promise<PrometheusPrograms> {
  const found = findPrograms() ?? findPrograms(join(folder, "usr", "bin"));
  if (found !== undefined) return found;
  let failure = "No apt-get is here to fetch it with.";
  if (findProgram("apt-get") !== undefined && findProgram("dpkg-deb") !== undefined) {
    try {
      await fetchPackage(folder);
      failure = "Debian's package holds no prometheus and promtool that run here.";
    } catch (error) {
      failure = (error as Error).message;
    }
  }
  const fetched = findPrograms(join(folder, "usr", "bin"));
  if (fetched !== undefined) return fetched;
  throw new Error(
    [
      "The tests of the alerts need Prometheus and found none:",
      "  - prometheus and promtool are not on the PATH.",
      `  - ${failure.replaceAll("\n", "\n    ")}`,
      "Install it (Debian's package prometheus, or brew install prometheus); it need not run. Then run the command again.",
    ].join("\n"),
  );
}

function findPrograms(folder?: string): PrometheusPrograms | undefined {
  const find = (name: string) => {
    if (folder === undefined) return findProgram(name);
    return existsSync(join(folder, name)) ? join(folder, name) : undefined;
  };
  const [prometheus, promtool] = [find("prometheus"), find("promtool")];
  return prometheus !== undefined && promtool !== undefined ? { prometheus, promtool } : undefined;
}

async function fetchPackage(folder: string): Promise<void> {
  mkdirSync(join(folder, ".."), { recursive: true });
  const work = mkdtempSync(`${folder}-`);
  try {
    // With the system's package lists where there are any, else with lists of our own.
    await download(work, []).catch(() => downloadWithOwnLists(work));
    const archive = readdirSync(work).find((name) => name.endsWith(".deb"));
    if (archive === undefined) throw new Error("apt-get said that it fetched prometheus, and there is no file.");
    const unpacked = join(work, "unpacked");
    await runProgram("dpkg-deb", ["--extract", join(work, archive), unpacked], { what: "Unpacking prometheus" });
    rmSync(folder, { recursive: true, force: true });
    // Whole or not at all, whatever ends this process.
    renameSync(unpacked, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function downloadWithOwnLists(work: string): Promise<void> {
  for (const name of ["lists", "cache"]) mkdirSync(join(work, name, "partial"), { recursive: true });
  const own = ["-o", `Dir::State::Lists=${join(work, "lists")}`, "-o", `Dir::Cache=${join(work, "cache")}`];
  await run(work, ["update", ...own], "Refreshing the package lists");
  await download(work, own);
}

function download(work: string, options: string[]): Promise<unknown> {
  return run(work, ["download", "prometheus", ...options], "Fetching Debian's package prometheus");
}

function run(work: string, args: string[], what: string): Promise<unknown> {
  // As root, apt-get would fetch as a user who may not write here.
  const script = 'cd "$1" && shift && exec apt-get -o APT::Sandbox::User=root -o Debug::NoLocking=1 "$@"';
  return runProgram("/bin/sh", ["-c", script, "sh", work, ...args], { what, timeoutMs: FETCH_TIMEOUT_MS });
}
