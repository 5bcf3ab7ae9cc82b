import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Resolve } from "./address-guard.ts";

export interface NameResolverOptions {
  /** Name servers as `address`, `address:port` or `[address]:port`; by default from `resolv.conf`. */
  servers?: readonly string[] | undefined;
  /**
   * How long a server may take to answer. c-ares then takes no answer to that question any more: it asks again, and waits once to twice as long, at
   * random. A name server that has the answer by then gives it at once.
   */
  timeoutMs?: number;
  /** How often each server is asked at most; twice if absent. */
  tries?: number;
  keptMs?: number;
  /** Milliseconds from any fixed point, never going back. */
  nowMs?: () => number;
}

/**
 * Long enough that a burst of connections asks once, short enough that a moved receiver is found at the next attempt.
 * A name's own time to live is not looked at: it is longer for most, and every connect checks what it gets.
 */
const ANSWER_KEPT_MS = 5_000;
const ANSWERS_KEPT = 10_000;
/** An answer from far away, or from a zone whose first servers are dead, takes three seconds. One dead server takes four of an attempt's 15. */
const TIMEOUT_MS = 4_000;
const TRIES = 2;
/** However many servers are silent, so long of an attempt's 15 s is the look-up's: then it is the servers that have failed. */
const LOOKUP_MS = 10_000;
/** How long the answer for IPv6 is waited for when that for IPv4 is there: RFC 8305's resolution delay. */
const SECOND_ANSWER_MS = 50;

/** A name server that has just started, or lost its own query, often answers a moment later. */
const FAILED_ONCE = ["ESERVFAIL", "EREFUSED"];
const AGAIN_AFTER_MS = 500;

export interface NameResolver extends Resolve {
  /** Forgets the addresses of a name that could not be used: the next connection asks again. */
  forget(hostname: string): void;
}

/** RFC 6761: name servers say at once that there is no such name. */
export const NO_NAME = "herald.invalid";
/** Name servers answer that question from their caches. */
const ALIVE_MS = 1_000;
/** The codes of c-ares if no server has answered, or none is there. Every other error is an answer. */
const UNANSWERED = ["ETIMEOUT", "ECONNREFUSED"];
/** The code of a look-up without an answer if the name servers answered nothing else meanwhile either: the name has no part in it. */
export const SERVERS_SILENT = "ERR_NAME_SERVERS_SILENT";

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException | undefined)?.code ?? "";

function resolverOf(servers: readonly string[] | undefined, options: { timeout: number; tries: number }): Resolver {
  const resolver = new Resolver(options);
  if (servers) resolver.setServers(servers);
  return resolver;
}

/**
 * Whether the name servers answer at all, even if they can't resolve. They are asked for a name that does not exist, so a fault in a receiver's own
 * name has no part in it. The question is not repeated: an outage may end between the two. Never rejects.
 */
export async function areNamesAnswered(servers?: readonly string[]): Promise<boolean> {
  // With a new resolver each time: an outage may end by a change of the machine's settings.
  const resolver = resolverOf(servers, { timeout: ALIVE_MS, tries: 1 });
  const error: unknown = await resolver.resolve4(NO_NAME).then(
    () => undefined,
    (error: unknown) => error,
  );
  return !UNANSWERED.includes(codeOf(error));
}

/** RFC 6761: this name is the machine itself, whatever name servers say. */
const LOCALHOST: LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/**
 * Resolves names over c-ares instead of `dns.lookup`. That one runs getaddrinfo on libuv's threads, two of the four at
 * most: while two names wait for servers that never answer, no other name is resolved for seconds. c-ares waits for
 * any number of servers at once.
 *
 * The price is that it asks name servers only: the hosts file is not read. Search domains do not apply: a receiver's name is written in full.
 *
 * Each question has a c-ares resolver of its own, which takes some 30 us to create. A resolver that is used again shortens its timeout if its server
 * was quick before, as a server with a cache is: then it waits only about a second in all, and a zone whose name servers are far away takes longer.
 * @throws Error where `servers` has something that is no address
 */
export function createNameResolver(options: NameResolverOptions = {}): NameResolver {
  const { nowMs = () => performance.now(), keptMs = ANSWER_KEPT_MS } = options;
  const answers = new Map<string, { addresses: Promise<LookupAddress[]>; untilMs: number }>();
  const { servers, timeoutMs = TIMEOUT_MS, tries = TRIES } = options;
  const newResolver = () => resolverOf(servers, { timeout: timeoutMs, tries });
  // What is no address is refused now, and not at the first look-up.
  newResolver();
  // Node drops the interface without a word: the server would never be reached.
  const scoped = servers?.find((server) => server.includes("%"));
  if (scoped) throw new Error(`${scoped} has an interface (%): a name server needs an address that goes without one`);

  let silence: Promise<boolean> | undefined;
  /** Whether the servers are silent. Look-ups that want to know at the same time share one question. */
  function areSilent(): Promise<boolean> {
    silence ??= areNamesAnswered(servers).then((areAnswered) => {
      silence = undefined;
      return !areAnswered;
    });
    return silence;
  }

  const once = (name: string) => query(newResolver(), name);
  async function twice(name: string): Promise<LookupAddress[]> {
    const slowFromMs = nowMs() + timeoutMs;
    let wereSilent: Promise<boolean> | undefined;
    // Asked while the name is, and not when it has failed: by then an outage of the servers may be over.
    const asking = setTimeout(() => {
      wereSilent = areSilent();
    }, timeoutMs).unref();
    try {
      return await once(name);
    } catch (error) {
      const code = codeOf(error);
      if (UNANSWERED.includes(code) && (await (wereSilent ?? areSilent())))
        throw Object.assign(error as Error, { code: SERVERS_SILENT });
      // After a slow failure, a second one might take the rest of the attempt: then the receiver would seem to be the slow one.
      if (!FAILED_ONCE.includes(code) || nowMs() > slowFromMs) throw error;
      await sleep(AGAIN_AFTER_MS);
      return await once(name);
    } finally {
      clearTimeout(asking);
    }
  }

  function ask(name: string): Promise<LookupAddress[]> {
    // The question is kept from its start, so that all callers until then wait for the same answer.
    const entry = { addresses: (tries > 1 ? twice : once)(name), untilMs: Number.POSITIVE_INFINITY };
    answers.delete(name);
    answers.set(name, entry);
    entry.addresses.then(
      () => {
        entry.untilMs = nowMs() + keptMs;
      },
      () => {
        if (answers.get(name) === entry) answers.delete(name);
      },
    );
    // A Map keeps the order of insertion: its first entry is the oldest.
    const [oldest] = answers.keys();
    if (answers.size > ANSWERS_KEPT && oldest !== undefined) answers.delete(oldest);
    return entry.addresses;
  }

  const nameOf = (hostname: string) => hostname.toLowerCase().replace(/\.$/, "");

  async function resolve(hostname: string): Promise<LookupAddress[]> {
    const name = nameOf(hostname);
    if (name === "localhost") return LOCALHOST;
    const earlier = current(name);
    if (earlier === undefined) return ask(name);
    // A question that was put before, and fails, says nothing about the name servers of now: they may have come back since.
    return earlier.catch(() => current(name) ?? ask(name));
  }

  /** The answer that is known, or that is waited for. */
  function current(name: string): Promise<LookupAddress[]> | undefined {
    const kept = answers.get(name);
    return kept && kept.untilMs > nowMs() ? kept.addresses : undefined;
  }

  return Object.assign(resolve, {
    forget(hostname: string) {
      const name = nameOf(hostname);
      // A question under way has not been answered yet.
      if (answers.get(name)?.untilMs !== Number.POSITIVE_INFINITY) answers.delete(name);
    },
  });
}

/**
 * IPv4 first: machines without IPv6 are common, and those without IPv4 fail on it at once and go on to the next. So IPv4 is
 * always waited for, and IPv6 a moment only: some name servers never answer that question, or in seconds.
 */
async function query(resolver: Resolver, name: string): Promise<LookupAddress[]> {
  const ipv4 = addresses(inTime(resolver.resolve4(name), "queryA"), 4);
  const ipv6 = addresses(inTime(resolver.resolve6(name), "queryAaaa"), 6);
  const first = await ipv4;
  const second = Array.isArray(first) ? await soon(ipv6) : await ipv6;
  const found = [first, second].flatMap((each) => (Array.isArray(each) ? each : []));
  if (found.length > 0) return found;
  const reasons = [first, second].filter((each) => !Array.isArray(each)) as NodeJS.ErrnoException[];
  // The other question's failure says more than "no address of that kind".
  throw reasons.find(({ code }) => code !== "ENODATA") ?? reasons[0];
}

/** Rejects as c-ares does if the answer takes longer than {@link LOOKUP_MS}. */
function inTime(answer: Promise<string[]>, syscall: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const late = () => reject(Object.assign(new Error(`${syscall} ETIMEOUT`), { code: "ETIMEOUT", syscall }));
    const timer = setTimeout(late, LOOKUP_MS).unref();
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function addresses(answer: Promise<string[]>, family: 4 | 6): Promise<LookupAddress[] | NodeJS.ErrnoException> {
  return answer.then(
    (found) => found.map((address) => ({ address, family })),
    (error: NodeJS.ErrnoException) => error,
  );
}

/** The answer, or none if it takes longer than {@link SECOND_ANSWER_MS}. */
function soon<T>(answer: Promise<T>): Promise<T | []> {
  return new Promise((resolve) => {
    // Where this process was busy, an answer may lie there unread: the turn after the pause reads it.
    const pause = setTimeout(() => setImmediate(resolve, []), SECOND_ANSWER_MS);
    void answer.then(resolve).finally(() => clearTimeout(pause));
  });
}
