import type { ApiLimits } from "./session.ts";

/** Sizes and counts that the management API refuses to go beyond, where its settings say nothing else. */
export const DEFAULT_API_LIMITS: ApiLimits = {
  nameCharacters: 200,
  urlCharacters: 2_048,
  payloadBytes: 256 * 1024,
  endpoints: 100,
};

/** Deliveries in a listing, across the whole organization (SPEC 2.1, 8). */
export const RECENT_DELIVERIES = 200;

/** The largest event body that the broker contract allows, in bytes of UTF-8. */
export const MAX_EVENT_BYTES = 256 * 1024;
