import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { findProgram, succeeds } from "./programs.ts";

/** A package that a package manager can install. */
export interface Installable {
  /** As a person would say it: "RabbitMQ". */
  title: string;
  /** Debian's packages, parted by blanks. */
  apt: string;
  /** The arguments for Homebrew. */
  brew: string[];
}

/** A package manager that can install something here. */
export interface WayToInstall {
  /** As a person would say it: "apt-get". */
  name: string;
  command: string;
  args: string[];
}

const INSTALL_TIMEOUT_MS = 15 * 60_000;

/**
 * Debian's packages start the services of the system as soon as they are installed, and Herald does not use those. A policy
 * that forbids starting services holds while the installation runs, unless the system has a policy of its own.
 */
const aptScript = (name: string): string => `
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 143' INT TERM HUP
  printf '#!/bin/sh\\nexit 101\\n' > "$policy" && chmod 755 "$policy"
fi
apt-get update || echo 'The package lists could not be refreshed; trying with those at hand.'
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 ${name}
`;

/**
 * The package manager that can install something here, with the rights that this process has or gets without a password.
 *
 * @returns why there is none, for the person who has to do it, in place of one
 */
export async function wayToInstall({ apt, brew: brewArgs }: Installable): Promise<WayToInstall | string> {
  const script = aptScript(apt);
  const isRoot = process.getuid?.() === 0;
  if (findProgram("apt-get") !== undefined) {
    if (isRoot) return { name: "apt-get", command: "/bin/sh", args: ["-c", script] };
    if (await succeeds("sudo", ["-n", "true"]))
      return { name: "sudo apt-get", command: "sudo", args: ["-n", "/bin/sh", "-c", script] };
    return "apt-get could install it, but this user is not root and sudo wants a password.";
  }
  const brew = findProgram("brew", ["/opt/homebrew/bin", "/usr/local/bin"]);
  if (brew !== undefined && !isRoot) return { name: "Homebrew", command: brew, args: ["install", ...brewArgs] };
  return "No apt-get or Homebrew is here to install it with.";
}

let installing: Promise<unknown> = Promise.resolve();

/** Installs it, after the person at the terminal agreed, if there is one. Installations run one after the other. */
export function installPackage(
  what: Installable,
  way: WayToInstall,
  onProgress: (text: string) => void = () => {},
): Promise<void> {
  const installed = installing.then(() => askAndInstall(what, way, onProgress));
  installing = installed.catch(() => {});
  return installed;
}

/**
 * Finds something that is installed, else installs it.
 *
 * @param neededBy starts the error's sentence: "Tests of the admin page"
 * @throws one message that says what was tried and what to do, where neither works
 */
export async function findOrInstall<T>(
  what: Installable,
  neededBy: string,
  find: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  const installed = await find();
  if (installed !== undefined) return installed;
  const way = await wayToInstall(what);
  let failure = "";
  if (typeof way === "string") failure = way;
  else {
    failure = `${way.name} installed it, but it still cannot be found.`;
    await installPackage(what, way).catch((error: Error) => {
      failure = error.message;
    });
  }
  const found = await find();
  if (found !== undefined) return found;
  throw new Error(
    `${neededBy} need ${what.title}, which is not installed. ${failure}\n` +
      `Install it (Debian: ${what.apt}; Homebrew: ${what.brew.join(" ")}), then run the command again.`,
  );
}

async function askAndInstall(what: Installable, way: WayToInstall, onProgress: (text: string) => void): Promise<void> {
  if (!(await mayInstall(what, way))) throw new Error(`Installing it with ${way.name} was declined.`);
  onProgress(`installing it with ${way.name}, which takes a minute or two`);
  await run(way, onProgress);
}

async function mayInstall({ title, apt }: Installable, way: WayToInstall): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return true;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(
      `${title} is not installed. Install the package ${apt} with ${way.name} now? [Y/n] `,
    );
    return !/^\s*n/i.test(answer);
  } finally {
    terminal.close();
  }
}

async function run(way: WayToInstall, onProgress: (text: string) => void): Promise<void> {
  const child = spawn(way.command, way.args, { stdio: ["ignore", "pipe", "pipe"], timeout: INSTALL_TIMEOUT_MS });
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on("line", (line) => {
      lines.push(line);
      if (/^(Get|Setting up|Unpacking|==>)/.test(line)) onProgress(line.slice(0, 100));
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`Installing it with ${way.name} failed:\n${lines.slice(-8).join("\n")}`);
}
