import { createPublicKey } from "node:crypto";
import { hostname } from "node:os";
import { Gauge, type Registry } from "prom-client";
import { catalogueMark, readCatalogue } from "../config/event-types.ts";
import { readSetting } from "../config/read-config.ts";
import type { Settings } from "../config/settings.ts";
import { Prisma } from "../database/generated/client.ts";
import type { Queries, Reads } from "../database/queries.ts";
import { repeat, within } from "../runtime/repeat.ts";
import { keyMark, readSealingKey, readSecretKeys } from "../security/sealing-keys.ts";
import type { Held } from "../security/tls-files.ts";
import type { Log } from "../telemetry/log.ts";

/**
 * The settings that must be the same for all processes, with this process's values. A key is shown by its fingerprint, a catalogue and a file of
 * authorities by their marks. Beside them {@link Trouble}, which is compared with nothing.
 */
export type Facts = Readonly<Record<string, string | number | boolean | null | Held>>;

/** A service at work, as its row says; `herald serve` has three. */
export interface Process {
  id: string;
  service: string;
  /** Where it runs: host and process id. */
  name: string;
  facts: Facts;
}

/** A setting that differs between running processes. */
export interface Difference {
  setting: string;
  what: string;
  /** Not of values: one process seals secrets that the other one can't open; or of files of authorities. */
  of?: "keys" | "authorities";
}

/** What a process says is wrong with itself. A fact is absent while all is well. */
export interface Trouble {
  /** The parts for which it is not ready. */
  notReady?: string;
  /** By how much its machine's clock is ahead of PostgreSQL's, from {@link FAR_OFF_SECONDS} on; negative if it is behind. */
  clockAheadSeconds?: number;
  /** Lines of its log that standard output did not take. */
  linesLost?: number;
}

const TROUBLE: Record<keyof Trouble, true> = { notReady: true, clockAheadSeconds: true, linesLost: true };
/** From this difference of clocks on, logs of several machines can't be read side by side. */
export const FAR_OFF_SECONDS = 60;

const SAY_INTERVAL_MS = 10_000;
/** The interval of a process that is not ready, as one that just starts. */
const SAY_UNREADY_MS = 1_000;
/** A process reads a file that has changed within a minute, and says so ten seconds later. */
const FILES_DIFFER_SECONDS = 120;
/** A process that did not renew its row for this time has ended. */
export const SILENT_SECONDS = 30;
/** How long a stop waits for PostgreSQL to mark its row as ended. Others take it for ended after {@link SILENT_SECONDS} without. */
const END_TIMEOUT_MS = 1_000;

export function factsOf(settings: Settings, config: Readonly<Record<string, unknown>>): Facts {
  const shared = Object.keys(settings).filter((name) => settings[name]?.shared);
  return Object.fromEntries(shared.map((name) => [name, factOf(name, config[name])]));
}

function factOf(name: string, value: unknown): Facts[string] {
  // The content of the files is compared, not their paths; without a file it is the default catalogue.
  if (name === "EVENT_TYPES_FILE")
    return catalogueMark(readCatalogue({ EVENT_TYPES_FILE: value as string | undefined }));
  if (typeof value === "string" && name === "SECRET_KEYS") {
    const keys = readSetting(name, () => readSecretKeys(value));
    return keys
      .map(({ id, key }) => keyMark({ id, key: createPublicKey(key) }))
      .sort()
      .join(", ");
  }
  if (typeof value === "string" && name === "SECRET_SEALING_KEY") {
    return keyMark(readSetting(name, () => readSealingKey(value)));
  }
  return (value ?? null) as Facts[string];
}

/** How processes differ. That values of keys differ too is no other fault than that the keys do not fit. */
export function differencesOf(processes: readonly Process[]): Difference[] {
  const byName = [...processes].sort((one, other) => (calledOf(one) < calledOf(other) ? -1 : 1));
  const names = new Set(byName.flatMap(({ facts }) => Object.keys(facts)));
  const settings = [...names].filter((name) => !(name in TROUBLE)).sort();
  const differences = settings.flatMap((setting) => {
    const byValue = Map.groupBy(
      byName.filter(({ facts }) => facts[setting] !== undefined),
      ({ facts }) => comparedOf(facts[setting]),
    );
    const ages = [...byValue.values()].map((same) => Math.max(...same.map(({ facts }) => ageOf(facts[setting]))));
    if (byValue.size < 2 || Math.min(...ages) < FILES_DIFFER_SECONDS) return [];
    const values = [...byValue].map(
      ([value, same]) => `${(value ?? "") === "" ? "not set" : value} in ${same.map(calledOf).join(", ")}`,
    );
    const of = ages.includes(Number.POSITIVE_INFINITY) ? {} : { of: "authorities" as const };
    return [{ setting, what: `${setting} is ${values.join(", and ")}.`, ...of }];
  });
  const ofKeys = unopenedOf(byName);
  return [...differences.filter(({ setting }) => ofKeys.length === 0 || !setting.startsWith("SECRET_")), ...ofKeys];
}

const isHeld = (fact: Facts[string] | undefined): fact is Held => typeof fact === "object" && fact !== null;
const comparedOf = (fact: Facts[string] | undefined) => (isHeld(fact) ? fact.mark : fact);
const ageOf = (fact: Facts[string] | undefined) => (isHeld(fact) ? fact.heldSeconds : Number.POSITIVE_INFINITY);

/** Whether one of the other processes has a key under this id that `own` lacks. */
export function haveOtherKey(others: readonly Process[], own: Facts, id: string): boolean {
  return others.some(({ facts }) =>
    keysOf(facts).some((mark) => mark.startsWith(`${id} (`) && !keysOf(own).includes(mark)),
  );
}

const keysOf = ({ SECRET_KEYS: keys }: Facts): string[] => (typeof keys === "string" ? keys.split(", ") : []);

/** Says which keys do not fit each other: a key that seals, and is not among those that another process opens with. */
function unopenedOf(processes: readonly Process[]): Difference[] {
  const setting = "SECRET_SEALING_KEY";
  const opening = processes.filter(({ facts }) => keysOf(facts).length > 0);
  const lacks = ({ facts }: Process, key: Facts[string] | undefined) => !keysOf(facts).includes(String(key));
  const sealing = processes.filter(
    ({ facts }) => facts[setting] && opening.some((each) => lacks(each, facts[setting])),
  );
  if (sealing.length === 0) return [];
  const seals = sealing.map((each) => `${each.facts[setting]} in ${calledOf(each)}`);
  const opens = opening.filter((each) => sealing.some(({ facts }) => lacks(each, facts[setting])));
  const keys = opens.map((each) => `of ${calledOf(each)} are ${keysOf(each.facts).join(", ")}`);
  return [
    { setting, what: `${setting} is ${seals.join(", and ")}, and SECRET_KEYS ${keys.join(", and ")}.`, of: "keys" },
  ];
}

function calledOf({ service, name }: Process): string {
  return `${service} ${name}`;
}

export function exportDifferences(registry: Registry): Gauge {
  return new Gauge({
    name: "herald_settings_differ",
    help: "Shared settings of which this process and another one have different values, or keys that do not fit: herald doctor names them.",
    registers: [registry],
  });
}

/**
 * Says a process's facts in its row every ten seconds, or each second while it is not ready, and compares them with those of the
 * others: a difference is a log line when it comes, and counts in `herald_settings_differ` for as long as it lasts.
 */
export function sayFacts(
  { queries, log, registry }: { queries: Queries; log: Log; registry: Registry },
  { id, service, facts }: Omit<Process, "name" | "facts"> & { facts: () => Facts | Promise<Facts> },
  { intervalMs = SAY_INTERVAL_MS }: { intervalMs?: number | undefined } = {},
) {
  const name = `${hostname()}:${process.pid}`;
  const gauge = exportDifferences(registry);
  let said: readonly string[] = [];
  let others: readonly Process[] = [];
  let isReady = false;

  async function say(): Promise<void> {
    const own: Process = { id, service, name, facts: await facts() };
    isReady = own.facts.notReady === undefined;
    others = await writeFacts(queries, own);
    const found = differencesOf([own, ...others]).filter(
      ({ setting, of }) => setting in own.facts || (of === "keys" && "SECRET_KEYS" in own.facts),
    );
    gauge.set(new Set(found.map(({ setting }) => setting)).size);
    for (const { setting, what } of found) {
      if (!said.includes(what)) log.warn("processes have different values of a setting", { setting, what });
    }
    said = found.map(({ what }) => what);
  }

  const saying = repeat(say, {
    intervalMs: () => (isReady ? intervalMs : Math.min(intervalMs, SAY_UNREADY_MS)),
    // Readiness says when PostgreSQL does not answer.
    onFailure: () => {
      others = [];
    },
  });
  return {
    /** The other processes at work; none while PostgreSQL does not say. */
    others: () => others,
    /** How many processes of the same service are at work, this one included. */
    processes: () => 1 + others.filter((other) => other.service === service).length,
    async stop() {
      const ended = saying.stop().then(() => endFacts(queries, id));
      await within(END_TIMEOUT_MS, ended).catch(() => {});
    },
  };
}

/** Answers a {@link Process} for each service at work. Locks nothing. Reads the whole table, a row for each process. */
export const LIVING = `select id, service, name, facts from process where said_at > now() - interval '${SILENT_SECONDS} seconds'`;

/** A process that has not said that it ended. */
export interface Heard {
  service: string;
  name: string;
  trouble: Trouble;
  silentSeconds: number;
}

/** Answers each {@link Heard} process; dispatchers remove the rows of those that are silent for a minute. Locks nothing. Reads the whole table. */
export const HEARD = `
  select service, name, facts as trouble, extract(epoch from now() - said_at)::int as "silentSeconds"
  from process where said_at is not null order by service, name`;

/**
 * Writes a process's facts into its row, or inserts it, and returns the others that are at work.
 *
 * Locks its own row. Reads the whole table, a row for each process.
 */
async function writeFacts(queries: Queries, { id, service, name, facts }: Process): Promise<Process[]> {
  return await queries.$queryRaw<Process[]>`
    with own as (
      insert into process (id, service, name, facts, said_at)
      values (${id}::uuid, ${service}, ${name}, ${JSON.stringify(facts)}::jsonb, now())
      on conflict (id) do update
      set service = excluded.service, name = excluded.name, facts = excluded.facts, said_at = excluded.said_at
    )
    ${Prisma.raw(LIVING)} and id <> ${id}::uuid`;
}

export async function livingProcesses(reads: Reads): Promise<Process[]> {
  return await reads.$queryRaw<Process[]>`${Prisma.raw(LIVING)}`;
}

/**
 * Writes own rows again, which shows that a commit works: PostgreSQL takes changes, and its disk and standbys confirm them.
 * Locks them. Walks process_pkey. @throws also if none of them is there yet, or is any more
 */
export async function assertCommits(queries: Queries, ids: readonly string[]): Promise<void> {
  const written = await queries.$executeRaw`
    update process set said_at = now() where id = any (${ids}::uuid[]) and said_at is not null`;
  if (written === 0) throw new Error("No own row is in the table of processes.");
}

/** Says that a process has ended. Dispatchers' heartbeats delete its row. Locks it, and walks process_pkey. */
async function endFacts(queries: Queries, id: string): Promise<void> {
  await queries.$executeRaw`update process set said_at = null where id = ${id}::uuid`;
}
