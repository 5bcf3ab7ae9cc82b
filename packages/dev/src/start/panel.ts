import { delimiter, join } from "node:path";
import { isExecutable } from "../stack/programs.ts";
import type { RunInfo } from "./local-files.ts";

/** Shows the person at the terminal what is going on, and how long it has taken. */
export interface Progress {
  /** Runs a step that has a name; says when it is done, and every few seconds that it still goes on. */
  step<T>(name: string, task: (report: (text: string) => void) => Promise<T>): Promise<T>;
  say(text: string): void;
}

const STILL_GOING_MS = 5_000;

export function progressOn(write: (line: string) => void): Progress {
  const begun = Date.now();
  const line = (text: string) => write(`${seconds(Date.now() - begun)}  ${text}`);
  return {
    say: line,
    step: async (name, task) => {
      const stepBegun = Date.now();
      let latest = "";
      const timer = setInterval(() => line(`${name} ... ${latest}`.trimEnd()), STILL_GOING_MS);
      try {
        const result = await task((text) => {
          if (latest === "") line(`${name}: ${text}`);
          latest = text;
        });
        line(`${name}: done in ${seconds(Date.now() - stepBegun).trim()}`);
        return result;
      } finally {
        clearInterval(timer);
      }
    },
  };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`.padStart(7);
}

/** How this person runs pnpm: many have only npm. What npx itself put on the path does not count. */
function pnpmCommand(): string {
  const folders = (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => !/[\\/](_npx|node_modules)[\\/]/.test(folder));
  return folders.some((folder) => isExecutable(join(folder, "pnpm"))) ? "pnpm" : "npx -y pnpm@12";
}

/** The panel that a person needs once everything runs: where things are, and the first three commands. */
export function panel(info: RunInfo, authorityFile: string, receiverControlUrl: string): string {
  const pnpm = pnpmCommand();
  const api = `${info.apiUrl}/api/organization/integration-operations`;
  const { receiverUrl: url } = info;
  const endpoint = JSON.stringify({ name: "Demo receiver", url, enabled: true, events: ["WorkItemCompleted"] });
  return `
Herald is ready.

  Admin page    ${info.adminSignInUrl}
  API           ${api}
  Token         ${info.token}
  Organization  ${info.organizationId}
  Broker        ${info.amqpUrl}
  Database      ${info.databaseUrl}
  Receiver      ${info.receiverUrl}   (what it can do: curl --cacert ${authorityFile} ${receiverControlUrl})
  Metrics       ${Object.values(info.metricsUrls).join("  ")}

Create an endpoint that points at the demo receiver:

  curl ${api}/webhooks -H 'Content-Type: application/json' \\
    -H "Authorization: Bearer $(${pnpm} -s run token)" -d '${endpoint}'

Emit a business event, and see it arrive below:

  ${pnpm} emit WorkItemCompleted

A token with other rights: ${pnpm} run token --help. Scripts find all this in .local/run.json. ctrl-C ends everything.
`;
}

const SHOWN_LEVELS: ReadonlySet<unknown> = new Set(["warn", "error"]);
const NOT_FACTS: ReadonlySet<string> = new Set(["timestamp", "level", "service", "message"]);

/** A service's log line as a person at the terminal wants it: warnings and errors, short; undefined for others. The log files hold everything. */
export function forTheTerminal(service: string, line: string): string | undefined {
  const entry = parse(line);
  // Not a log line of Herald: a crash during the start, or a warning of Node. It is always shown.
  if (entry === undefined) return line.trim() === "" ? undefined : `${service}: ${line}`;
  if (!SHOWN_LEVELS.has(entry.level)) return undefined;
  const facts = Object.entries(entry)
    .filter(([name]) => !NOT_FACTS.has(name))
    .map(([name, value]) => `${name}=${short(value)}`);
  return [`${service} ${String(entry.level)}: ${String(entry.message)}`, ...facts].join(" ");
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function short(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const firstLine = (text ?? "").split("\n")[0] ?? "";
  return firstLine.length > 160 ? `${firstLine.slice(0, 160)}...` : firstLine;
}
