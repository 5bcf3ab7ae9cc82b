import type { Resend } from "@herald/contracts";
import { formats } from "../../common/formats.ts";

/** "1 delivery", "1,000 deliveries" */
export function deliveriesIn(count: number): string {
  return `${formats.number(count)} ${count === 1 ? "delivery" : "deliveries"}`;
}

const UNITS = ["bytes", "kB", "MB", "GB"];

/** "1 byte", "812 bytes", "412 kB", "1.2 MB" */
export function sizeIn(bytes: number): string {
  if (bytes === 1) return "1 byte";
  const unit = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1_000 ** unit;
  return `${value < 9.95 && unit > 0 ? formats.decimal(value) : formats.number(Math.round(value))} ${UNITS[unit]}`;
}

/** How far a resend is: "412 of 1,000 sent: 398 succeeded, 14 wait." */
export function progressWords({ total, sent, succeeded, failed, waiting }: Resend): string {
  const parts = [
    [succeeded, "succeeded"],
    [failed, "given up"],
    [waiting, waiting === 1 ? "waits" : "wait"],
  ] as const;
  const ended = parts.filter(([count]) => count > 0).map(([count, words]) => `${formats.number(count)} ${words}`);
  const head = `${formats.number(sent)} of ${formats.number(total)} sent`;
  return ended.length === 0 ? `${head}.` : `${head}: ${ended.join(", ")}.`;
}

/** What became of a resend, and by whom. */
export function stateWords({ state, stopReason, stoppedBy }: Resend): string {
  if (state === "running") return "Running";
  if (state === "finished") return "Finished";
  return stopReason === "disabled"
    ? "Stopped, since the webhook was not active"
    : `Stopped by ${stoppedBy ?? "an admin"}`;
}
