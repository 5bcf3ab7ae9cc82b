import type { EndpointOverview } from "@herald/contracts";
import { countdown } from "../time/words.ts";

type Tried = Pick<EndpointOverview, "nextTryAtUtc" | "cutOffSinceUtc" | "heldSinceUtc">;

/**
 * When a failing webhook is tried again: "next try in 4 s", "next try in 1:05"; "trying again" once that time has come, and while
 * an attempt is under way. Null where nothing waits for it, and while Herald's own network, or its operator, keeps it from trying.
 */
export function nextTryWords({ nextTryAtUtc, cutOffSinceUtc, heldSinceUtc }: Tried, nowMs: number): string | null {
  if (nextTryAtUtc === null || cutOffSinceUtc !== null || heldSinceUtc !== null) return null;
  const leftMs = Date.parse(nextTryAtUtc) - nowMs;
  if (leftMs <= 0) return "trying again";
  const seconds = Math.ceil(leftMs / 1_000);
  return `next try ${seconds < 60 ? `in ${seconds} s` : countdown(nowMs + leftMs, nowMs)}`;
}
