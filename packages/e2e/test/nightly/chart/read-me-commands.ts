import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { projectFolder } from "@herald/dev/stack/folders";
import { projectFile } from "../operations/project-files.ts";

/** Effects of the commands of the chart's README for servers in the cluster. */
export interface ReadMeCommands {
  /** The Secrets that they made, by their names, and what each holds. */
  secrets: Record<string, Record<string, string>>;
  /** The names of the Secrets that were there when the examples were applied. */
  secretsBefore: string[];
  /** The files that were applied. */
  applied: string[];
  /** A file with what was imported into RabbitMQ. */
  definitionsFile: string;
  /** The output of `herald keys make`, as settings. */
  keys: Record<string, string>;
}

/** There is no cluster and no Docker: what these two are asked for is written down, and `herald` is this checkout's. */
const STAND_INS = `
set -euo pipefail
kubectl() { printf '%s\\t' "$@" >> calls; echo >> calls; [ "$3" != exec ] || cat > definitions.json; }
docker() { [ "$1" != run ] || node "$ROOT/packages/cli/dist/main.js" "\${@:4}"; }
openssl() { node --print 'crypto.randomBytes(24).toString("hex")'; }
`;

/** Runs the commands as a person would paste them. @param folder where they may write */
export async function runReadMeCommands(folder: string): Promise<ReadMeCommands> {
  const commands = `${shellOf("Image and keys")}\n${shellOf("Servers in the cluster")}`;
  const cwd = folder;
  mkdirSync(join(cwd, "deploy"), { recursive: true });
  cpSync(join(projectFolder(), "deploy", "rabbitmq"), join(cwd, "deploy", "rabbitmq"), { recursive: true });
  await promisify(execFile)("bash", ["-c", STAND_INS + commands], {
    cwd,
    env: { ...process.env, ROOT: projectFolder() },
  });
  const result: ReadMeCommands = {
    secrets: {},
    secretsBefore: [],
    applied: [],
    definitionsFile: join(cwd, "definitions.json"),
    keys: {},
  };
  for (const line of readFileSync(join(cwd, "calls"), "utf8").trim().split("\n")) {
    const [, , verb, ...words] = line.split("\t");
    if (verb === "create") result.secrets[words[2] ?? ""] = literalsOf(words);
    if (verb !== "apply") continue;
    result.secretsBefore = Object.keys(result.secrets);
    result.applied = words.filter((word) => word.endsWith(".yaml"));
  }
  const lines = readFileSync(join(cwd, "herald-keys.env"), "utf8").split("\n");
  for (const [, name = "", value = ""] of lines.flatMap((line) => [/^(\w+)=(.*)$/.exec(line) ?? []])) {
    if (name) result.keys[name] = value;
  }
  return result;
}

/** The first block of commands under a heading of the chart's README. */
function shellOf(heading: string): string {
  const section = projectFile("deploy/helm/herald/README.md").split(`\n## ${heading}\n`)[1] ?? "";
  const [, commands = ""] = /^```sh\n([\s\S]*?)^```$/m.exec(section) ?? [];
  return commands;
}

function literalsOf(words: readonly string[]): Record<string, string> {
  const literals = words.flatMap((word) => [/^--from-literal=([^=]+)=(.*)$/.exec(word) ?? []]);
  return Object.fromEntries(literals.flatMap(([, key, value]) => (key ? [[key, value ?? ""]] : [])));
}
