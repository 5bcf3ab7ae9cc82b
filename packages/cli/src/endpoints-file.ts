import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type Environment, readConfig } from "@herald/common/config/read-config";
import type { Settings } from "@herald/common/config/settings";
import type {
  CheckWebhookResponse,
  FieldProblem,
  Problem,
  SaveWebhookRequest,
  SaveWebhookResponse,
  WebhookEndpointSummary,
} from "@herald/contracts";
import { parse } from "yaml";
import { type Action, action, operatorOf, type RunContext, UsageError } from "./command.ts";
import { plural, printable } from "./output.ts";

// These actions know an organization only by the API and a token, as any client does: whoever runs them needs no rights at the database.

const tokenSettings = {
  HERALD_TOKEN: {
    type: "string",
    required: true,
    secret: true,
    // What a header can hold: fetch shows the value of a header that it refuses.
    pattern: "^[\\x21-\\x7e]+$",
    description: "The access token of a user who may manage webhooks.",
  },
} as const satisfies Settings;

/** How often a request is sent that got no answer, or one that says to come again. */
const TRIES = 3;
const MAX_WAIT_SECONDS = 60;
const TIMEOUT_MS = 60_000;

const options = {
  file: { type: "string", short: "f" },
  url: { type: "string" },
  delete: { type: "boolean", default: false },
} as const;
const usage = "-f FILE --url URL [--delete]";

/** Whose token it is, by its own words: the API judges it, and its trail has the same. */
function subjectOf(environment: Environment): string {
  const [, claims = ""] = readConfig(tokenSettings, environment).HERALD_TOKEN.split(".");
  const { sub } = (jsonOf(Buffer.from(claims, "base64url").toString()) ?? {}) as { sub?: unknown };
  return typeof sub === "string" ? sub : operatorOf(environment);
}

export const plan: Action = action({
  changes: false,
  usage,
  options,
  async run(values, context) {
    const { steps } = await prepare(values, context);
    for (const step of steps) context.stdout(described(step, step.kind));
    if (steps.length > 0) throw new Error(`${plural(steps.length, "change")} to make; apply makes them.`);
    context.stderr("Nothing to do: the endpoints are as the file has them.\n");
  },
});

export const apply: Action = action({
  changes: true,
  who: subjectOf,
  usage,
  options,
  async run(values, context) {
    const { ask, steps } = await prepare(values, context);
    for (const [done, step] of steps.entries()) {
      context.progress(`${done} of ${plural(steps.length, "change")} made`);
      try {
        const { signingSecret, id } = await make(ask, step);
        context.stdout(described(step, `${step.kind}d`, id));
        if (step.kind !== "create") continue;
        context.stdout(
          `  signing secret: ${signingSecret ?? "lost with an answer of the API; replace it by an edit with rotateSecret"}\n`,
        );
      } catch (error) {
        const { name } = step.kind === "delete" ? step.existing : step.settings;
        throw new Error(
          `${done} of ${plural(steps.length, "change")} made. Then, to ${step.kind} ${quoted(name)}: ${reasonOf(error)}`,
          { cause: error },
        );
      }
    }
    context.stderr(`${plural(steps.length, "change")} made.\n`);
    return { changes: steps.length };
  },
});

/** An endpoint as the file has it. Without `enabled` a new one is enabled, and another one is left as it is. */
export interface WantedEndpoint {
  name: string;
  url: string;
  events: string[];
  enabled?: boolean;
}

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
const FIELDS: Record<keyof WantedEndpoint, { what: string; optional?: true; fits: (value: unknown) => boolean }> = {
  name: { what: "a text", fits: isText },
  url: { what: "a text", fits: isText },
  events: {
    what: "a list of names of events, at least one",
    fits: (value) => Array.isArray(value) && value.length > 0 && value.every(isText),
  },
  enabled: { what: "true or false", optional: true, fits: (value) => typeof value === "boolean" },
};

/**
 * Reads the file's text, YAML or JSON. What only the API can judge, such as a URL, is left to it.
 *
 * @throws Error with all faults, each with its place as `endpoints[2].url`
 */
export function readEndpoints(text: string): WantedEndpoint[] {
  const content: unknown = parse(text);
  if (!isObject(content) || !Array.isArray(content.endpoints)) throw new Error("endpoints must be there, as a list.");
  const faults = unknownKeys(content, ["endpoints"], "");
  const firstOf = new Map<unknown, string>();
  for (const [index, endpoint] of content.endpoints.entries()) {
    const place = `endpoints[${index}]`;
    if (!isObject(endpoint)) {
      faults.push(`${place} must be an object with ${Object.keys(FIELDS).join(", ")}.`);
      continue;
    }
    faults.push(...unknownKeys(endpoint, Object.keys(FIELDS), `${place}.`));
    for (const [field, { what, optional, fits }] of Object.entries(FIELDS)) {
      const value = endpoint[field];
      if (!(optional && value === undefined) && !fits(value)) faults.push(`${place}.${field} must be ${what}.`);
    }
    const first = firstOf.get(endpoint.name);
    if (first && isText(endpoint.name)) faults.push(`${place}.name is that of ${first} too: names are unique.`);
    else firstOf.set(endpoint.name, place);
  }
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return content.endpoints as WantedEndpoint[];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unknownKeys(object: object, known: readonly string[], place: string): string[] {
  const unknown = Object.keys(object).filter((key) => !known.includes(key));
  return unknown.map((key) => `${place}${key} is unknown: there may be ${known.join(", ")}.`);
}

type EndpointSettings = Pick<SaveWebhookRequest, "name" | "url" | "enabled" | "events">;
type Existing = EndpointSettings & Pick<WebhookEndpointSummary, "id" | "version">;

/** One thing to do. `place` is the endpoint's in the file. */
export type Step =
  | { kind: "create"; place: string; settings: EndpointSettings }
  | { kind: "change"; place: string; settings: EndpointSettings; existing: Existing }
  | { kind: "delete"; existing: Existing };

/**
 * What makes an organization's endpoints those of the file, which it knows by their names.
 *
 * @param deletes whether endpoints go that the file does not name
 * @throws Error where the organization has a name of the file twice
 */
export function stepsTo(wanted: readonly WantedEndpoint[], existing: readonly Existing[], deletes: boolean): Step[] {
  const steps: Step[] = [];
  for (const [index, { name, url, events, enabled }] of wanted.entries()) {
    const place = `endpoints[${index}]`;
    const [found, another] = existing.filter((endpoint) => endpoint.name === name);
    if (another) {
      throw new Error(
        `${place}.name: the organization has more than one endpoint ${quoted(name)} (${found?.id}, ${another.id}). Rename or delete all but one.`,
      );
    }
    const settings = { name, url, enabled: enabled ?? found?.enabled ?? true, events: [...new Set(events)] };
    if (!found) steps.push({ kind: "create", place, settings });
    else if (changes(found, settings).length > 0) steps.push({ kind: "change", place, settings, existing: found });
  }
  if (!deletes) return steps;
  const unnamed = existing.filter(({ name }) => !wanted.some((endpoint) => endpoint.name === name));
  return [...steps, ...unnamed.map((endpoint): Step => ({ kind: "delete", existing: endpoint }))];
}

/** The fields that differ. The order of events means nothing. */
function changes(old: EndpointSettings, now: EndpointSettings): ("url" | "enabled" | "events")[] {
  const comparable = (value: unknown) => JSON.stringify(Array.isArray(value) ? [...value].sort() : value);
  return (["url", "enabled", "events"] as const).filter((field) => comparable(old[field]) !== comparable(now[field]));
}

/** A step for people, in lines. */
function described(step: Step, verb: string, id = step.kind === "create" ? "" : step.existing.id): string {
  const { name } = step.kind === "delete" ? step.existing : step.settings;
  const lines = [`${verb} ${quoted(name)}${id && ` (${id})`}`];
  if (step.kind === "create") {
    for (const field of ["url", "enabled", "events"] as const)
      lines.push(`  ${field}: ${quoted(step.settings[field])}`);
  } else if (step.kind === "change") {
    for (const field of changes(step.existing, step.settings))
      lines.push(`  ${field}: ${quoted(step.existing[field])} -> ${quoted(step.settings[field])}`);
  }
  return `${lines.join("\n")}\n`;
}

const quoted = (value: unknown): string => printable(JSON.stringify(value));

/** Reads the file and the organization's endpoints, and has the API check what would be saved. Changes nothing. */
async function prepare(
  values: { file?: string | undefined; url?: string | undefined; delete: boolean },
  context: RunContext,
): Promise<{ ask: Ask; steps: Step[] }> {
  const { file } = values;
  if (file === undefined) throw new UsageError("-f takes the file of the endpoints.");
  const ask = asking(values.url, readConfig(tokenSettings, context.environment).HERALD_TOKEN);
  const inFile = (error: unknown): Error => new Error(`${file}: ${(error as Error).message}`, { cause: error });
  const text = await readFile(file, "utf8").catch((error: Error) => {
    throw new Error(`${file} can't be read: ${error.message}`, { cause: error });
  });
  let wanted: WantedEndpoint[];
  try {
    wanted = readEndpoints(text);
  } catch (error) {
    throw inFile(error);
  }
  context.progress("reads the endpoints");
  const existing = await ask<WebhookEndpointSummary[]>("GET", "/webhooks");
  const steps = stepsTo(wanted, existing, values.delete);
  const faults: string[] = [];
  for (const step of steps) {
    if (step.kind === "delete") continue;
    context.progress(`checks ${step.place}`);
    const { errors } = await ask<CheckWebhookResponse>("POST", "/webhooks/checks", { body: step.settings });
    faults.push(...errors.map((error) => `${step.place}${placeIn(error)}: ${error.detail}`));
  }
  if (faults.length > 0) throw inFile(new Error(faults.join("\n")));
  const unnamed = stepsTo(wanted, existing, true).filter(({ kind }) => kind === "delete").length;
  if (unnamed > 0 && !values.delete) {
    context.stderr(
      `${plural(unnamed, "endpoint")} that the file doesn't name stay${unnamed === 1 ? "s" : ""}; --delete deletes.\n`,
    );
  }
  return { ask, steps };
}

/** A JSON pointer, such as `/events/1`, as the place that people write: `.events[1]`. */
function placeIn({ pointer = "" }: FieldProblem): string {
  return pointer.replaceAll(/\/(\d+)/g, "[$1]").replaceAll("/", ".");
}

async function make(ask: Ask, step: Step): Promise<{ id: string; signingSecret: string | null }> {
  if (step.kind === "delete") {
    const { id, version } = step.existing;
    await ask("DELETE", `/webhooks/${id}`, { body: { version } });
    return { id, signingSecret: null };
  }
  const body = { ...step.settings, rotateSecret: false };
  const { endpoint, signingSecret } =
    step.kind === "create"
      ? await ask<SaveWebhookResponse>("POST", "/webhooks", { body, idempotencyKey: randomUUID() })
      : await ask<SaveWebhookResponse>("PUT", `/webhooks/${step.existing.id}`, {
          body: { ...body, version: step.existing.version },
        });
  return { id: endpoint.id, signingSecret };
}

function reasonOf(error: unknown): string {
  const isOvertaken = error instanceof Refusal && ["version_conflict", "webhook_not_found"].includes(error.code);
  return isOvertaken ? "the endpoint was changed since it was read. Run plan again." : (error as Error).message;
}

/** The API's own refusal of a request. */
class Refusal extends Error {
  /** The kind of problem; "" where something else than the API answered. */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** @param path what follows `/api/organization/integration-operations` */
type Ask = <T>(method: string, path: string, more?: { body?: object; idempotencyKey?: string }) => Promise<T>;

/**
 * Requests to the API. One that gets no answer, or is told to come again, is repeated: creates carry a key, and versions let the others
 * through once.
 *
 * @throws UsageError where `url` is no address of an API
 */
function asking(url: string | undefined, token: string): Ask {
  const base = URL.canParse(url ?? "") ? new URL(url ?? "") : undefined;
  if (!base || !/^https?:$/.test(base.protocol) || base.username || base.password || base.search)
    throw new UsageError("--url takes the address of the API, such as https://herald.example.com, with its base path.");
  const api = `${base.origin}${base.pathname.replace(/\/$/, "")}/api/organization/integration-operations`;
  return async (method, path, { body, idempotencyKey } = {}) => {
    for (let left = TRIES - 1; ; left--) {
      const answer = await fetch(`${api}${path}`, {
        method,
        // A redirect would turn a POST into a GET.
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: {
          authorization: `Bearer ${token}`,
          connection: "close",
          ...(body && { "content-type": "application/json" }),
          ...(idempotencyKey && { "idempotency-key": idempotencyKey }),
        },
        ...(body && { body: JSON.stringify(body) }),
      })
        .then(async (response) => ({ response, text: await response.text() }))
        .catch((error: Error) => ({ error }));
      if ("error" in answer) {
        const reason = (answer.error.cause as Error | undefined)?.message || answer.error.message;
        if (left === 0)
          throw new Error(`${method} ${api}${path} got no answer: ${reason}. Look at --url and the network.`);
        await sleep(1_000);
        continue;
      }
      const { response, text } = answer;
      const content = jsonOf(text);
      if (response.ok && content !== undefined) return content as never;
      const problem = (isObject(content) ? content : {}) as Partial<Problem>;
      const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
      if (left === 0 || !(seconds <= MAX_WAIT_SECONDS)) {
        const detail =
          problem.detail ?? `no answer of Herald's API; look at --url. It begins with ${quoted(text.slice(0, 100))}`;
        throw new Refusal(
          `${method} ${api}${path} was answered with ${response.status}: ${detail}`,
          problem.code ?? "",
        );
      }
      await sleep(seconds * 1_000);
    }
  };
}

/** The value of a JSON text; null of an empty one, and undefined of what is no JSON. */
function jsonOf(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
