import { spawn } from "node:child_process";
import { createInterface } from "node:readline/promises";
import { findProgram, succeeds } from "./programs.ts";

/** Something that a package manager has. */
export interface Installable {
  /** As a person would say it: "RabbitMQ". */
  title: string;
  /** Debian's package. */
  apt: string;
  /** What Homebrew is to be told. */
  brew: string[];
}

export interface WayToInstall {
  /** As a person would say it: "apt-get". */
  name: string;
  command: string;
  args: string[];
}

export interface WaysToInstall {
  usable?: WayToInstall;
  /** Why there is none, for the person who has to do it. */
  whyNone: string;
}

const INSTALL_TIMEOUT_MS = 15 * 60_000;

/**
 * Debian's packages start the system's own services as soon as they are installed; Herald has no use for those. A policy
 * that forbids starting services, unless the system has its own, holds for as long as the installation runs.
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

/** Which package manager could install something here, with the rights that this process has or gets without a password. */
export async function waysToInstall({ apt, brew: brewArgs }: Installable): Promise<WaysToInstall> {
  const script = aptScript(apt);
  const isRoot = process.getuid?.() === 0;
  if (findProgram("apt-get") !== undefined) {
    if (isRoot) return usable({ name: "apt-get", command: "/bin/sh", args: ["-c", script] });
    if (await succeeds("sudo", ["-n", "true"])) {
      return usable({ name: "sudo apt-get", command: "sudo", args: ["-n", "/bin/sh", "-c", script] });
    }
    return { whyNone: "apt-get could install it, but this user is not root and sudo wants a password." };
  }
  const brew = findProgram("brew", ["/opt/homebrew/bin", "/usr/local/bin"]);
  if (brew !== undefined && !isRoot) return usable({ name: "Homebrew", command: brew, args: ["install", ...brewArgs] });
  return { whyNone: "No apt-get or Homebrew is here to install it with." };
}

function usable(way: WayToInstall): WaysToInstall {
  return { usable: way, whyNone: "" };
}

/** Installs it; asks first where somebody is there to ask. */
export async function installPackage(
  what: Installable,
  way: WayToInstall,
  onProgress: (text: string) => void = () => {},
): Promise<void> {
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
  for (const stream of [child.stdout, child.stderr]) {
    void forEachLine(stream, (line) => {
      lines.push(line);
      if (/^(Get|Setting up|Unpacking|==>)/.test(line)) onProgress(line.slice(0, 100));
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`Installing it with ${way.name} failed:\n${lines.slice(-8).join("\n")}`);
}

async function forEachLine(stream: NodeJS.ReadableStream, onLine: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input: stream })) onLine(line);
}
