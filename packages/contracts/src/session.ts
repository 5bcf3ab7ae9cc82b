import type { ApiLimits } from "./api-limits.ts";

/** Who calls, what they may do, and what this service allows: what a page needs before it shows anything. Additive to SPEC. */
export interface SessionInfo {
  /** The token's subject. */
  subject: string;
  /** Null where the token names none. */
  organizationId: string | null;
  mayView: boolean;
  /** Create, edit and deliver. */
  mayManage: boolean;
  /** Delete, which needs no entitlement. */
  mayDelete: boolean;
  /** What stands between the caller and managing, in the words of a 403, e.g. "permission integrations.manage". */
  missing: string[];
  /** When the caller's token ends. */
  expiresAtUtc: string;
  limits: ApiLimits & {
    /** Attempts that a delivery gets (SPEC 8). */
    maxAttempts: number;
    /** Failures in a row that disable an endpoint (SPEC 8). */
    disableAfterFailures: number;
    /** How long one attempt may take (SPEC 8). */
    attemptTimeoutMs: number;
    /** How long finished deliveries are kept. */
    retentionDays: number;
  };
  /** First part of the names of the headers that receivers get, e.g. "X-Service". */
  headerPrefix: string;
}

/** One of SPEC section 6's events, as something to choose from. Additive to SPEC. */
export interface EventTypeInfo {
  name: string;
  /** When it is emitted. */
  emittedWhen: string;
  /** What one should know before subscribing to it; null where there is nothing. */
  remark: string | null;
  /** A payload such as receivers get, as JSON text to start a manual delivery from. */
  sample: string;
}
