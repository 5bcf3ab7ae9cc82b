import { connect, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import type { EventType } from "../events.ts";
import { ExchangeError, exchange } from "../send/exchange.ts";
import { CHECKS, type Check, type RawBytes, type Step } from "./checks.ts";
import { faultOf, type Outcome } from "./judge.ts";
import { requestMaker } from "./request-maker.ts";

export interface CheckOptions {
  url: URL;
  /** What the receiver verifies with. */
  secret: string;
  /** The type of the sample events; WorkItemCompleted where absent. */
  eventType?: EventType;
  headerPrefix?: string;
  /** How long a receiver may take for one answer; 15 s where absent, as Herald waits. */
  timeoutMs?: number;
  now?: () => Date;
  onResult?: (result: CheckResult) => void;
}

export interface CheckResult {
  id: string;
  title: string;
  passed: boolean;
  /** The statuses of the answers, in the order of the requests; null where none came. */
  statuses: (number | null)[];
  /** The slowest answer's. */
  durationMs: number;
  /** What was wrong, and what to do; null where it passed. */
  fault: string | null;
  advice: string | null;
}

/**
 * Tries a receiver with each row of the table, one after the other.
 *
 * @throws ExchangeError where the receiver can't be reached at all, which says nothing about it
 */
export async function checkReceiver(options: CheckOptions): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of CHECKS) {
    const result = await runCheck(check, options, results.length === 0);
    results.push(result);
    options.onResult?.(result);
  }
  return results;
}

type Tried = Outcome & { durationMs: number };

async function runCheck(check: Check, options: CheckOptions, isFirst: boolean): Promise<CheckResult> {
  const { secret, eventType = "WorkItemCompleted", headerPrefix = "X-Service", now = () => new Date() } = options;
  // Made when it is sent: a receiver judges the timestamp by its own clock.
  const steps = check.steps(requestMaker({ secret, eventType, headerPrefix, now: now() }));
  const outcomes = check.atOnce
    ? await Promise.all(steps.map((step) => tryStep(step, options, isFirst)))
    : await oneByOne(steps, (step) => tryStep(step, options, isFirst));
  const faults = steps.map(({ expect }, index) => faultOf(expect, outcomes[index] as Tried));
  const fault = faults.find((each) => each !== null) ?? null;
  return {
    id: check.id,
    title: check.title,
    passed: fault === null,
    statuses: outcomes.map((outcome) => ("status" in outcome ? outcome.status : null)),
    durationMs: Math.max(...outcomes.map(({ durationMs }) => durationMs)),
    fault,
    advice: fault === null ? null : adviceFor(check, outcomes),
  };
}

/** A receiver that gives no answer in time has another trouble than the one that was looked for. */
function adviceFor(check: Check, outcomes: readonly Tried[]): string {
  const late = outcomes.some((outcome) => "failure" in outcome && outcome.failure === "timeout");
  return late ? "Answer once the event is stored, and do the work afterwards: Herald waits 15 s." : check.advice;
}

async function oneByOne<Item, Result>(items: readonly Item[], run: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await run(item));
  return results;
}

/** @throws ExchangeError where the receiver can't be reached and has not been reached before */
async function tryStep({ send }: Step, { url, timeoutMs = 15_000 }: CheckOptions, isFirst: boolean): Promise<Tried> {
  if ("raw" in send) {
    await sendRaw(url, send);
    return { failure: "broken", message: "no answer was waited for", durationMs: 0 };
  }
  try {
    const { status, durationMs } = await exchange(url, send, timeoutMs);
    return { status, durationMs };
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    if (isFirst && /^(nothing_listens|unknown_host|certificate)$/.test(error.kind)) throw error;
    return { failure: error.kind, message: error.message, durationMs: error.kind === "timeout" ? timeoutMs : 0 };
  }
}

/** How long a receiver may take to notice that the sender has hung up; most do at once. */
const HANG_UP_MS = 2000;

/** Writes bytes and hangs up. What becomes of them shows in the next request, so the receiver gets time to notice. */
function sendRaw(url: URL, { raw }: RawBytes): Promise<void> {
  const isTls = url.protocol === "https:";
  // A URL writes IPv6 addresses in brackets.
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || (isTls ? 443 : 80));
  return new Promise((resolve) => {
    const send = () => socket.end(raw(url));
    const server = { host, port, ...(isIP(host) === 0 && { servername: host }) };
    const socket = isTls ? connectTls(server, send) : connect(server, send);
    socket.setTimeout(HANG_UP_MS, () => socket.destroy());
    // Unread, an answer would keep the connection from closing.
    socket.resume();
    socket.on("error", () => {});
    socket.on("close", () => resolve());
  });
}
