import { randomUUID } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { eventually } from "@herald/dev/harness/eventually";
import { projectFolder } from "@herald/dev/stack/folders";
import { findOrInstall } from "@herald/dev/stack/install-package";
import { freePort } from "@herald/dev/stack/ports";
import { type RunningProcess, startProcess } from "@herald/dev/stack/processes";
import { findProgram, runProgram, succeeds } from "@herald/dev/stack/programs";
import { projectFile } from "../operations/project-files.ts";

const ASSEMBLE_TIMEOUT_MS = 10 * 60_000;

/**
 * Makes the root file system of a container without Docker: the output of deploy/docker/assemble.sh, at the paths of the Dockerfile.
 * Instead of the base image, which a registry of images would have to give, it has this machine's Node with the libraries that it is
 * linked to.
 *
 * @param secrets files for /run/secrets, by their names there
 */
export async function makeRootFileSystem(
  root: string,
  config: ImageConfig,
  secrets: Readonly<Record<string, string>>,
): Promise<void> {
  for (const name of ["proc", "dev", "tmp", "etc", "run/secrets", "usr/local/bin"]) {
    mkdirSync(join(root, name), { recursive: true });
  }
  const app = join(root, config.workingFolder);
  await runProgram(join(projectFolder(), "deploy/docker/assemble.sh"), [app], {
    what: "Assembling the image's files",
    timeoutMs: ASSEMBLE_TIMEOUT_MS,
  });
  await copyNode(root);
  writeFileSync(join(root, "etc/passwd"), "root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n");
  writeFileSync(join(root, "etc/hosts"), "127.0.0.1 localhost\n");
  for (const [name, text] of Object.entries(secrets)) {
    // As Compose mounts them: files of another user.
    writeFileSync(join(root, "run/secrets", name), text, { mode: 0o444 });
  }
}

async function copyNode(root: string): Promise<void> {
  const program = join(root, "usr/local/bin/node");
  copyFileSync(process.execPath, program);
  chmodSync(program, 0o755);
  const libraries = await runProgram("ldd", [process.execPath], { what: "Looking for the libraries of Node" });
  for (const [library = ""] of libraries.matchAll(/\/\S+/g)) {
    const copy = join(root, library);
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(realpathSync(library), copy);
    chmodSync(copy, 0o755);
  }
}

/** The image's settings by the last stage of deploy/docker/Dockerfile. */
export interface ImageConfig {
  /** The paths that are copied from the stage that builds, with their destinations. */
  copied: { from: string; to: string };
  workingFolder: string;
  user: { uid: number; gid: number };
  entrypoint: string[];
  environment: Record<string, string>;
}

/** @throws if the Dockerfile's last stage has an unknown instruction, so that none is overlooked */
export function readDockerfile(): ImageConfig {
  const text = projectFile("deploy/docker/Dockerfile");
  const last = text.slice(text.lastIndexOf("\nFROM ")).split("\n").filter(isInstruction);
  const config: Partial<ImageConfig> & Pick<ImageConfig, "environment"> = { environment: {} };
  for (const line of last) {
    const [, instruction = "", value = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (instruction === "WORKDIR") config.workingFolder = value;
    else if (instruction === "ENTRYPOINT") config.entrypoint = JSON.parse(value) as string[];
    else if (instruction === "ENV") {
      const [name = "", content = ""] = value.split("=");
      config.environment[name] = content;
    } else if (instruction === "USER") {
      const [uid, gid] = value.split(":").map(Number);
      config.user = { uid: uid ?? Number.NaN, gid: gid ?? Number.NaN };
    } else if (instruction === "COPY") {
      const [, from = "", to = ""] = /^--from=build (\S+) (\S+)$/.exec(value) ?? [];
      config.copied = { from, to };
    } else if (!["FROM", "EXPOSE"].includes(instruction)) {
      throw new Error(`This test does not know what the Dockerfile's last stage says: ${line}`);
    }
  }
  return config as ImageConfig;
}

function isInstruction(line: string): boolean {
  return line !== "" && !line.startsWith("#");
}

const UNSHARE = { title: "unshare (util-linux)", apt: "util-linux" };

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

/** @throws if this process lacks the rights, with the rights that it needs */
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

/** Runs a command of the image to its end. @returns its output @throws if it fails */
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
