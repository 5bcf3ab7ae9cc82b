import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@herald/dev/harness/eventually";
import { findOrInstall } from "@herald/dev/stack/install-package";
import { freePort } from "@herald/dev/stack/ports";
import { type RunningProcess, startProcess } from "@herald/dev/stack/processes";
import { findProgram, runProgram, succeeds } from "@herald/dev/stack/programs";
import type { ImageConfig } from "./dockerfile.ts";

const UNSHARE = { title: "unshare (util-linux)", apt: "util-linux", brew: [] };

/**
 * Runs as the first program of a container without Docker: with a mount namespace of its own, in which the root is the image's file
 * system, read-only; then as the image's user, in no other group and so without any capability.
 */
const ENTER = `
set -eu
root=$1 folder=$2 uid=$3 gid=$4
shift 4
mount --make-rprivate /
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount --rbind /proc "$root/proc"
mount --bind /dev "$root/dev"
exec setpriv --clear-groups --no-new-privs unshare --root="$root" --wd="$folder" --setgid "$gid" --setuid "$uid" "$@"
`;

/** The image of {@link makeRootFileSystem}, to be run. */
export interface Image {
  root: string;
  config: ImageConfig;
}

/** A service of the image that runs. */
export interface Container {
  operationsUrl: string;
  port: number;
  /** As an orchestrator does it: SIGTERM, and SIGKILL after 30 s. */
  stop(): Promise<void>;
}

const isRoot = process.getuid?.() === 0;

/** @throws where this process may not do it, with what it needs */
async function enterCommand({ root, config }: Image, environment: Record<string, string>): Promise<string[]> {
  const unshare = await findOrInstall(UNSHARE, "Tests of the image", () => findProgram("unshare"));
  if (!isRoot && !(await succeeds("sudo", ["-n", "true"]))) {
    throw new Error(
      "Tests of the image mount its file system read-only: run them on Linux, as root or as a user whom sudo asks no password.",
    );
  }
  const all = {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ...config.environment,
    ...environment,
  };
  const { uid, gid } = config.user;
  return [
    ...(isRoot ? [] : ["sudo", "-n"]),
    "env",
    "-i",
    ...Object.entries(all).map(([name, value]) => `${name}=${value}`),
    ...[unshare, "--mount", "sh", "-c", ENTER, "sh", root, config.workingFolder, String(uid), String(gid)],
    ...config.entrypoint,
  ];
}

/** Runs a command of the image to its end. @returns what it printed @throws where it fails */
export async function runInImage(image: Image, args: string[], environment: Record<string, string>): Promise<string> {
  const [program = "", ...words] = await enterCommand(image, environment);
  return await runProgram(program, [...words, ...args], { what: `${args.join(" ")} in the image` });
}

/** Starts a command of the image that serves /readyz, and resolves when that says that all is ready. */
export async function startInImage(
  image: Image,
  args: string[],
  environment: Record<string, string>,
): Promise<Container> {
  const [port, operationsPort] = [await freePort(), await freePort()];
  const ports = { PORT: String(port), OPERATIONS_PORT: String(operationsPort) };
  const [program = "", ...words] = await enterCommand(image, { ...environment, ...ports });
  const running = await startProcess({
    name: `image-${randomUUID()}`,
    command: program,
    args: [...words, ...args],
    pidFolder: join(tmpdir(), "herald-e2e-processes"),
    mark: args[0] ?? "",
  });
  const operationsUrl = `http://127.0.0.1:${operationsPort}`;
  let exit: string | undefined;
  void running.exited.then(({ code, signal }) => {
    exit = `It ended with ${code ?? signal}.`;
  });
  try {
    await eventually(
      async () => {
        if (exit !== undefined) return;
        const ready = await fetch(`${operationsUrl}/readyz`, { headers: { connection: "close" } });
        const parts = (await ready.json()) as object;
        if (!ready.ok || !Object.values(parts).every(Boolean)) throw new Error(JSON.stringify(parts));
      },
      { timeoutMs: 120_000 },
    );
    if (exit !== undefined) throw new Error(exit);
  } catch (error) {
    await end(running, 0);
    throw new Error(`${args.join(" ")} is not ready: ${(error as Error).message}\n${running.lastLines().join("\n")}`);
  }
  return { operationsUrl, port, stop: () => end(running, 30_000) };
}

async function end(running: RunningProcess, graceMs: number): Promise<void> {
  // A user may not signal what sudo runs; sudo hands the signal on.
  if (!isRoot) await succeeds("sudo", ["-n", "kill", "-TERM", String(running.pid)]);
  await running.stop(graceMs);
}
