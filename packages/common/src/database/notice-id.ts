import { randomUUID } from "node:crypto";
import { firstIdAt } from "./ids.ts";

/** Ids made by this process. */
let made = 0;

/** A new notice's id: a UUID of version 7. Of one process and one millisecond, a later one is greater. */
export function noticeId(now: Date): string {
  made = (made + 1) % 0x1000;
  return `${firstIdAt(now).slice(0, 14)}7${made.toString(16).padStart(3, "0")}${randomUUID().slice(18)}`;
}
