import { connect, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import type { EventType } from "@herald/receiver";
import { ExchangeError, exchange } from "../exchange.ts";
import type { Check, RawBytes, Step } from "./check.ts";
import { faultOf, type Outcome } from "./check.ts";
import { FORGED_REQUESTS } from "./forged-requests.ts";
import { GOOD_REQUESTS } from "./good-requests.ts";
import { ODD_REQUESTS } from "./odd-requests.ts";
import { requestMaker } from "./request-maker.ts";

export interface CheckOptions {
  url: URL;
  secret: string;
  /** The type of the sample events; WorkItemCompleted if absent. */
  eventType?: EventType;
  headerPrefix?: string;
  /** How long a receiver may take for one answer; 15 s if absent, as Herald waits. */
  timeoutMs?: number;
  /** From what duration on a good answer is called slow; 2 s if absent. */
  slowMs?: number;
  now?: () => Date;
  onResult?: (result: CheckResult) => void;
}

export interface CheckResult {
  id: string;
  title: string;
  passed: boolean;
  /** The statuses of the answers, in the order of the requests; null if none came. */
  statuses: (number | null)[];
  durationMs: number;
  /** The fault in words, and the advice; null if the check passed. */
  fault: string | null;
  advice: string | null;
  /** A warning in words if the receiver did right but too slowly. */
  warning: string | null;
  /** Questions to the person who can look into the receiver's store: the answers can't show these. */
  questions: string[];
}

/**
 * Tries a receiver with each row of the tables, one after the other. A forged request is forged in both signatures, Herald's own and the one of Standard
 * Webhooks, whichever the receiver verifies.
 * @throws ExchangeError if the receiver can't be reached at all, which says nothing about it
 */
export async function checkReceiver(options: CheckOptions): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of [...GOOD_REQUESTS, ...FORGED_REQUESTS, ...ODD_REQUESTS]) {
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
  const acceptedMs = Math.max(
    ...outcomes.filter((_, index) => steps[index]?.expect === "accept").map(({ durationMs }) => durationMs),
  );
  return {
    id: check.id,
    title: check.title,
    passed: fault === null,
    statuses: outcomes.map((outcome) => ("status" in outcome ? outcome.status : null)),
    durationMs: Math.max(...outcomes.map(({ durationMs }) => durationMs)),
    fault,
    advice: fault === null ? null : adviceFor(check, outcomes),
    warning: fault === null && acceptedMs > (options.slowMs ?? SLOW_MS) ? SLOW_ADVICE : null,
    questions: fault === null ? steps.flatMap(({ ask }) => ask ?? []) : [],
  };
}

/** A seventh of what Herald waits: a receiver that takes longer does its work before it answers. */
const SLOW_MS = 2000;
const WORK_AFTERWARDS = "Answer once the event is stored, and do the work afterwards: Herald waits 15 s.";
const SLOW_ADVICE = `It took longer than two seconds. ${WORK_AFTERWARDS}`;

/** A receiver that gives no answer in time has another fault than the one that the check looks for. */
function adviceFor(check: Check, outcomes: readonly Tried[]): string {
  const late = outcomes.some((outcome) => "failure" in outcome && outcome.failure === "timeout");
  return late ? WORK_AFTERWARDS : check.advice;
}

async function oneByOne<Item, Result>(items: readonly Item[], run: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await run(item));
  return results;
}

/** @throws ExchangeError if the receiver can't be reached and has not been reached before */
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

/** Writes bytes and hangs up. The next request shows how the receiver took them, so it gets time to notice. */
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
