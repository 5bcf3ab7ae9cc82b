import type { EndpointOverview } from "@herald/contracts";
import { countdown } from "../time/words.ts";

type Tried = Pick<EndpointOverview, "nextTryAtUtc" | "cutOffSinceUtc" | "heldSinceUtc" | "unfinished">;

/**
 * When a failing webhook is tried again: "next try in 4 s", "next try in 1:05"; "trying again" once that time has come, and while
 * an attempt is under way. Null where nothing waits for it, and while Herald's own network, or an operator, keeps it from trying.
 */
export function nextTryWords(
  { nextTryAtUtc, cutOffSinceUtc, heldSinceUtc, unfinished }: Tried,
  nowMs: number,
): string | null {
  if (cutOffSinceUtc !== null || heldSinceUtc !== null) return null;
  if (nextTryAtUtc === null) return unfinished.pending > 0 ? "trying again" : null;
  const leftMs = Date.parse(nextTryAtUtc) - nowMs;
  if (leftMs <= 0) return "trying again";
  const seconds = Math.ceil(leftMs / 1_000);
  return `next try ${seconds < 60 ? `in ${seconds} s` : countdown(nowMs + leftMs, nowMs)}`;
}
