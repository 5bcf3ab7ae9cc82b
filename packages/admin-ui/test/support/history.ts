import type { EventType } from "@herald/contracts";
import type { Answer, WebhookScenario } from "./fixtures.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** From a delivery's creation to its first attempt, in ms. */
const DISPATCH_MS = 12;
/** SPEC 8: retries come 1, 2, 4 and 8 minutes after the attempt before. */
const ATTEMPTS_AFTER_MS = [0, 1, 3, 7, 15].map((minutes) => minutes * MINUTE);

export interface Attempt extends Answer {
  number: number;
  startedAt: Date;
}

export interface Past {
  /** Of the delivery; before it is stored, what the ids of its event and of the entity are made of. */
  id: string;
  createdMs: number;
  eventType: EventType;
  state: "pending" | "succeeded" | "exhausted";
  attempts: Attempt[];
  /** When the next attempt is due; null where none follows. */
  dueAt: Date | null;
}

/** A day of a webhook's deliveries, newest first; the busiest hours were a few hours ago, and the night is quiet. */
export function historyOf(scenario: WebhookScenario, nowMs: number, random: () => number): Past[] {
  if (scenario.everyMinutes === null) return [];
  const endMs = nowMs - (scenario.off?.agoMs ?? 0);
  const unfinished = (scenario.unfinished ?? []).map(({ agoMs, failures }) =>
    unfinishedOne(scenario, endMs - agoMs, failures, random),
  );
  const finished: Past[] = [];
  let createdMs = endMs - (scenario.quietMs ?? 8_000 + random() * scenario.everyMinutes * MINUTE);
  while (createdMs > nowMs - 24 * HOUR) {
    finished.push(finishedOne(scenario, createdMs, endMs, random));
    createdMs -= scenario.everyMinutes * calmAt(nowMs - createdMs) * (0.3 + 1.4 * random()) * MINUTE + 1_000;
  }
  return [...unfinished, ...finished].sort((one, other) => other.createdMs - one.createdMs);
}

/** The events that a disabled webhook has no delivery for. */
export function missedBy(
  scenario: WebhookScenario,
  nowMs: number,
  random: () => number,
): { id: string; createdMs: number }[] {
  const missed: { id: string; createdMs: number }[] = [];
  if (!scenario.off || scenario.everyMinutes === null) return missed;
  for (let createdMs = nowMs - 40_000; createdMs > nowMs - scenario.off.agoMs + MINUTE; ) {
    missed.push({ id: uuidv7(createdMs, random), createdMs });
    createdMs -= scenario.everyMinutes * calmAt(nowMs - createdMs) * (0.3 + 1.4 * random()) * MINUTE;
  }
  return missed;
}

/** How many times rarer deliveries are than at the busiest hour: 1 four hours ago, 6 at night. */
function calmAt(agoMs: number): number {
  return 1 + 2.5 * (1 - Math.cos(((agoMs / HOUR - 4) / 24) * 2 * Math.PI));
}

function finishedOne(scenario: WebhookScenario, createdMs: number, endMs: number, random: () => number): Past {
  const fails = random() < (scenario.failureRate ?? 0);
  const lastRetryMs = createdMs + (ATTEMPTS_AFTER_MS.at(-1) ?? 0) + scenario.failure.durationMs;
  const exhausted = fails && random() < 0.25 && lastRetryMs < endMs;
  const failures = exhausted ? ATTEMPTS_AFTER_MS.length : fails && createdMs + 2 * MINUTE < endMs ? 1 : 0;
  const attempts = failedOnes(scenario, createdMs, failures, random);
  if (!exhausted) attempts.push(attempt(scenario.success, createdMs, failures + 1, 0.6 + random()));
  return {
    ...fresh(scenario, createdMs, random),
    state: exhausted ? "exhausted" : "succeeded",
    attempts,
    dueAt: null,
  };
}

function unfinishedOne(scenario: WebhookScenario, createdMs: number, failures: number, random: () => number): Past {
  const due = createdMs + (ATTEMPTS_AFTER_MS[failures] ?? 0);
  return {
    ...fresh(scenario, createdMs, random),
    state: "pending",
    attempts: failedOnes(scenario, createdMs, failures, random),
    dueAt: new Date(due),
  };
}

function fresh(scenario: WebhookScenario, createdMs: number, random: () => number) {
  const eventType = scenario.events[Math.floor(random() * scenario.events.length)] ?? "ProjectCreated";
  return { id: uuidv7(createdMs, random), createdMs, eventType };
}

function failedOnes(scenario: WebhookScenario, createdMs: number, count: number, random: () => number): Attempt[] {
  return Array.from({ length: count }, (_, index) =>
    attempt(scenario.failure, createdMs, index + 1, 0.95 + random() / 10),
  );
}

function attempt(answer: Answer, createdMs: number, number: number, speed: number): Attempt {
  // A timeout takes as long as it takes.
  const durationMs = answer.durationMs >= 15_000 ? answer.durationMs : Math.round(answer.durationMs * speed);
  const startedAt = new Date(createdMs + DISPATCH_MS + (ATTEMPTS_AFTER_MS[number - 1] ?? 0));
  return { ...answer, durationMs, number, startedAt };
}

/** Numbers from 0 to 1 that are the same on every run. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/** A UUIDv7 of a time: lists are in the order of their ids. */
export function uuidv7(timeMs: number, random: () => number): string {
  const time = Math.floor(timeMs).toString(16).padStart(12, "0");
  const noise = Array.from({ length: 18 }, () => Math.floor(random() * 16).toString(16)).join("");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${noise.slice(0, 3)}-8${noise.slice(3, 6)}-${noise.slice(6)}`;
}
