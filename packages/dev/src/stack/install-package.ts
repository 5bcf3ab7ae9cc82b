import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { findProgram, succeeds } from "./programs.ts";

/** Something that apt-get can install. */
export interface Installable {
  /** As a person would say it: "RabbitMQ". */
  title: string;
  /** Debian's packages, parted by blanks. */
  apt: string;
  /** What a person can do in place of installing it. */
  instead?: string;
}

const INSTALL_TIMEOUT_MS = 15 * 60_000;

/**
 * Debian's packages start the services of the system as soon as they are installed, and Herald does not use those. A policy
 * that forbids starting services holds while the installation runs, unless the system has a policy of its own.
 */
const aptScript = (packages: string): string => `
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 143' INT TERM HUP
  printf '#!/bin/sh\\nexit 101\\n' > "$policy" && chmod 755 "$policy"
fi
apt-get update || echo 'The package lists could not be refreshed; trying with those at hand.'
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 ${packages}
`;

let installing: Promise<string> = Promise.resolve("");

/** Finds something that is installed, else installs it. @throws one message, which begins with `neededBy`, on what was tried and what to do */
export async function findOrInstall<T>(
  what: Installable,
  neededBy: string,
  find: () => T | undefined | Promise<T | undefined>,
  onProgress: (text: string) => void = () => {},
): Promise<T> {
  const installed = await find();
  if (installed !== undefined) return installed;
  // One after the other: each may ask the person at the terminal.
  installing = installing.then(() => install(what, onProgress));
  const failure = await installing;
  const found = await find();
  if (found !== undefined) return found;
  const toDo = [`Install it (Debian: ${what.apt}), then run the command again.`, what.instead].filter(Boolean);
  throw new Error([`${neededBy} need ${what.title}, which is not installed. ${failure}`, ...toDo].join("\n"));
}

/** Installs it with the rights that this process has or gets without a password. @returns why it can't be found afterwards */
async function install(what: Installable, onProgress: (text: string) => void): Promise<string> {
  if (findProgram("apt-get") === undefined) return "No apt-get is here to install it with.";
  const sudo = process.getuid?.() === 0 ? [] : ["sudo", "-n"];
  if (sudo.length > 0 && !(await succeeds("sudo", ["-n", "true"])))
    return "apt-get could install it, but this user is not root and sudo wants a password.";
  if (!(await mayInstall(what))) return "Installing it was declined.";
  onProgress("installing it with apt-get, which takes a minute or two");
  const [program = "", ...args] = [...sudo, "/bin/sh", "-c", aptScript(what.apt)];
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], timeout: INSTALL_TIMEOUT_MS });
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on("line", (line) => {
      lines.push(line);
      if (/^(Get|Setting up|Unpacking)/.test(line)) onProgress(line.slice(0, 100));
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) return `Installing it with apt-get failed:\n${lines.slice(-8).join("\n")}`;
  return "apt-get installed it, but it still cannot be found.";
}

/** Asks the person at the terminal, if there is one. */
async function mayInstall({ title, apt }: Installable): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return true;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${title} is not installed. Install ${apt} with apt-get now? [Y/n] `);
    return !/^\s*n/i.test(answer);
  } finally {
    terminal.close();
  }
}
