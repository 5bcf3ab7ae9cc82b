import type { SessionInfo } from "@herald/contracts";
import { limitsOf, type ManagementApiConfig } from "../config.ts";
import { missingFor } from "./access.ts";
import type { Caller } from "./caller.ts";

/** What a caller may do and lacks, and what this service allows: all that a page needs to know before it asks for more. */
export function sessionOf(caller: Caller, config: ManagementApiConfig): SessionInfo {
  const missing = (access: "view" | "manage" | "save") => missingFor(access, caller, config.AUTH_REQUIRED_MODULE);
  return {
    subject: caller.subject,
    organizationId: caller.organizationId,
    mayView: missing("view").length === 0,
    mayManage: missing("save").length === 0,
    mayDelete: missing("manage").length === 0,
    missing: missing("save").map(({ what }) => what),
    expiresAtUtc: caller.expiresAt.toISOString(),
    limits: {
      ...limitsOf(config),
      maxAttempts: config.RETRY_DELAYS_SECONDS.split(",").length + 1,
      disableAfterFailures: config.DISABLE_AFTER_FAILURES,
      attemptTimeoutMs: config.ATTEMPT_TIMEOUT_SECONDS * 1_000,
      // As the publisher keeps them.
      retentionDays: Math.ceil(Math.max(config.RETENTION_DAYS, config.PUBLICATION_WINDOW_DAYS + 1)),
    },
    headerPrefix: config.HEADER_PREFIX,
  };
}
