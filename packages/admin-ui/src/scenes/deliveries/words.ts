import type { AttemptCounts, DeliveryDetails, Resend, WebhookDeliverySummary } from "@herald/contracts";
import { besideStatus } from "../../common/display/status.ts";
import type { Tone } from "../../common/feedback/Notice.tsx";
import { counted, duration, exact, formats, tally } from "../../common/formats.ts";

export type Unit = "hour" | "day";

export interface Bar extends AttemptCounts {
  startMs: number;
}

export function attemptsInWords({ succeeded, failed }: AttemptCounts, period: string): string {
  return tally({ succeeded, failed }, "attempt", "attempts", period);
}

const FEWEST_BARS = 8;

/** The first bar that is drawn: a young webhook has many without attempts before it. */
export function firstShown(bars: readonly AttemptCounts[]): number {
  const first = bars.findIndex(({ succeeded, failed }) => succeeded + failed > 0);
  return Math.max(0, Math.min(first, bars.length - FEWEST_BARS));
}

/** Attempts are whole, and each line of the grid has its number. */
const STEPS = Array.from({ length: 8 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
const MOST_LINES = 5;

/** The lines of the chart, from the top down. Its lower part, in which failures hang, is as high as they need. */
export function gridOf(bars: readonly AttemptCounts[]): { top: number; bottom: number; lines: number[] } {
  const failed = Math.max(0, ...bars.map((bar) => bar.failed));
  const succeeded = Math.max(failed === 0 ? 1 : 0, ...bars.map((bar) => bar.succeeded));
  const rounded = (count: number, step: number) => Math.ceil(count / step);
  const step =
    STEPS.find((each) => rounded(succeeded, each) + rounded(failed, each) < MOST_LINES) ?? succeeded + failed;
  const [above, below] = [rounded(succeeded, step), rounded(failed, step)];
  const lines = Array.from({ length: above + below + 1 }, (_, line) => (above - line) * step);
  return { top: above * step, bottom: below * step, lines };
}

type Start = Pick<Bar, "startMs">;

/** When an hour begins, "2:00 PM", or 24 hours, "11/20, 2:00 PM". With its zone, no two hours of a night have one name. */
export function beginning({ startMs }: Start, unit: Unit, withZone = false, from = formats): string {
  const time = `${from.hour(startMs)}${withZone ? ` ${from.zone(startMs)}` : ""}`;
  return unit === "hour" ? time : `${from.day(startMs)}, ${time}`;
}

/** The zone's offsets over some bars: two if summer time begins or ends among them. */
export function zonesOf(points: readonly Start[], from = formats): string[] {
  return [...new Set(points.map(({ startMs }) => from.zone(startMs)))];
}

/** The part that succeeded, "99.9 %". It is rounded down, so 100 means that nothing failed. */
export function successRate({ succeeded, failed }: AttemptCounts): string {
  return `${formats.number(Math.floor((1_000 * succeeded) / (succeeded + failed)) / 10)} %`;
}

/** The API counts all attempts together that took no longer. */
const FASTEST_MS = 50;

/** An estimated duration: "about 1.3 s", "50 ms". */
export function about(lengthMs: number): string {
  return lengthMs <= FASTEST_MS ? duration(FASTEST_MS) : `about ${duration(lengthMs)}`;
}

/** The text of a support request (SPEC 7). It holds nothing that must not be shared. */
export function supportText(webhookName: string, delivery: DeliveryDetails): string {
  const latest = delivery.attempts.at(-1);
  return [
    `Webhook: ${webhookName}`,
    `Attempt: ${latest ? `${latest.number}, ${exact(latest.attemptedAtUtc)}` : "none yet"}`,
    `Delivery id: ${delivery.id}`,
    `Event: ${delivery.eventType}`,
    `Result: ${latest ? [latest.statusCode, latest.errorSummary].filter((part) => part !== null).join(" ") : "none yet"}`,
  ].join("\n");
}

export interface DeliveryResult {
  tone: Tone;
  title: string;
  text: string;
}

/** Explains the API's answer to a manual delivery, whose 200 can be a failed delivery (SPEC 4.1.3). */
export function resultWords(summary: WebhookDeliverySummary, maxAttempts: number): DeliveryResult {
  const { attemptCount, succeeded, statusCode, errorSummary } = summary;
  if (attemptCount === 0 || statusCode === null) {
    return {
      tone: "care",
      title: "Queued, not attempted yet.",
      text: "The delivery is stored, and its first attempt follows. Whether the receiver takes it is not known yet.",
    };
  }
  if (succeeded) {
    return {
      tone: "good",
      title: `Succeeded: the receiver answered ${statusCode}.`,
      text: attemptCount === 1 ? "At the first attempt." : `At attempt ${attemptCount}.`,
    };
  }
  const why = [statusCode, besideStatus(statusCode, errorSummary)].filter(Boolean).join(", ");
  return {
    tone: "bad",
    title: `Attempt ${attemptCount} failed: ${why}.`,
    text:
      attemptCount >= maxAttempts
        ? "That was the last attempt."
        : "It is retried like any other delivery, while the webhook is active.",
  };
}

export function deliveriesIn(count: number): string {
  return counted(count, "delivery", "deliveries");
}

const UNITS = ["bytes", "kB", "MB", "GB"];

export function sizeIn(bytes: number): string {
  if (bytes === 1) return "1 byte";
  const unit = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1_000 ** unit;
  return `${value < 9.95 && unit > 0 ? formats.decimal(value) : formats.number(Math.round(value))} ${UNITS[unit]}`;
}

/** How far a resend is: "412 of 1,000 sent: 398 succeeded, 14 wait." */
export function progressWords({ total, sent, succeeded, failed, unfinished }: Resend): string {
  const parts = [
    [succeeded, "succeeded"],
    [failed, "given up"],
    [unfinished, unfinished === 1 ? "waits" : "wait"],
  ] as const;
  const ended = parts.filter(([count]) => count > 0).map(([count, words]) => `${formats.number(count)} ${words}`);
  const head = `${formats.number(sent)} of ${formats.number(total)} sent`;
  return ended.length === 0 ? `${head}.` : `${head}: ${ended.join(", ")}.`;
}

export function stateWords({ state, stopReason, stoppedBy }: Resend): string {
  if (state === "running") return "Running";
  if (state === "finished") return "Finished";
  return stopReason === "disabled"
    ? "Stopped, since the webhook was not active"
    : `Stopped by ${stoppedBy ?? "an admin"}`;
}
