/** Sizes and counts that the management API refuses to go beyond; settings of its service. */
export interface ApiLimits {
  /** Of an endpoint's name, in characters (Unicode code points). */
  nameCharacters: number;
  /** Of an endpoint's URL, in characters. */
  urlCharacters: number;
  /** Of a manual delivery's payload, in bytes of UTF-8. */
  payloadBytes: number;
  /** Endpoints that an organization may have. */
  endpoints: number;
}

export const DEFAULT_API_LIMITS: ApiLimits = {
  nameCharacters: 200,
  urlCharacters: 2_048,
  payloadBytes: 256 * 1024,
  endpoints: 100,
};

/** Deliveries in a listing, across the whole organization (SPEC 2.1, 8). */
export const RECENT_DELIVERIES = 200;
