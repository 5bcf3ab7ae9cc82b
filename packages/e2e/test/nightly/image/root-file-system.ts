import { chmodSync, copyFileSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { runProgram } from "@herald/dev/stack/programs";
import type { ImageConfig } from "./dockerfile.ts";

const ASSEMBLE_TIMEOUT_MS = 10 * 60_000;

/**
 * Makes the root file system of a container without Docker: what deploy/docker/assemble.sh gives, where the Dockerfile puts it; and in the
 * place of the base image, which would have to be fetched from a registry of images, this machine's Node with the libraries
 * that it is linked to.
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
