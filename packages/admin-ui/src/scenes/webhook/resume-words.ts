import type { EndpointDetails } from "@herald/contracts";
import { formats } from "../../common/formats.ts";

/** Where the API stops counting the unfinished. */
const COUNTED_TO = 10_000;

/**
 * What a resume sends, before one does it: "Resuming sends 15 deliveries: 12 that wait here, and 3 events …"
 * Deliveries that wait are those set aside, and those whose next attempt is not due yet.
 */
export function resumeWords({ unfinished, onResume }: Pick<EndpointDetails, "unfinished" | "onResume">): string {
  const waiting = unfinished.pending + unfinished.parked;
  const missed = onResume?.missedEvents ?? 0;
  const total = waiting + missed;
  if (total === 0) return "Nothing waits: the next event will be the first to go out.";
  const moreMissed = onResume?.missedEventsIsMinimum ?? false;
  const moreWaiting = Math.max(unfinished.pending, unfinished.parked) >= COUNTED_TO;
  const atLeast = moreMissed || moreWaiting ? "at least " : "";
  const waits = waiting === 1 ? "waits" : "wait";
  if (missed === 0) return `Resuming sends ${atLeast}${count(waiting, "delivery", "deliveries")} that ${waits} here.`;
  const came = "of the last seven days that came meanwhile";
  if (waiting === 0) return `Resuming sends ${atLeast}${count(missed, "event", "events")} ${came}.`;
  const events = `${moreMissed ? "at least " : ""}${count(missed, "event", "events")} ${came}`;
  return `Resuming sends ${atLeast}${formats.number(total)} deliveries: ${formats.number(waiting)} that ${waits} here, and ${events}.`;
}

function count(number: number, one: string, many: string): string {
  return `${formats.number(number)} ${number === 1 ? one : many}`;
}
