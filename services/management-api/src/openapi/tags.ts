import type { Operation } from "../operations.ts";

/** What the operations are about, in the order in which the reference lists them. */
export const TAGS = [
  { name: "Endpoints", description: "The receivers that the organization configured, and how they fare." },
  {
    name: "Deliveries",
    description: "What was sent to an endpoint, what became of it, sending by hand, and sending again.",
  },
  { name: "Events", description: "What an endpoint can subscribe to, and what happened." },
  { name: "Session", description: "Who calls, and what they may do." },
] as const;

type Tag = (typeof TAGS)[number]["name"];

/** By the path, which says what an operation is about: its last name counts. */
export function tagOf({ path }: Pick<Operation, "path">): Tag {
  if (/\/(?:deliver|deliveries|resends)\b/.test(path)) return "Deliveries";
  if (path.startsWith("/event")) return "Events";
  return path.startsWith("/session") ? "Session" : "Endpoints";
}
