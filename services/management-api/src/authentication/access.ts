import type { ProblemCode, SessionInfo } from "@herald/contracts";
import { limitsOf, type ManagementApiConfig } from "../config.ts";
import type { Caller } from "./caller.ts";

/**
 * The rights that a route asks of its caller (SPEC 5.2, 5.3). Each asks for normal organization access (organization, subscription,
 * module) and `integrations.view`; `manage` and `save` also for `integrations.manage`; `save` also for the entitlement.
 */
export type Access = "view" | "manage" | "save";

export interface Missing {
  code: ProblemCode;
  /** What the caller lacks, in words: "permission integrations.manage". */
  what: string;
}

const VIEW = "integrations.view";
const MANAGE = "integrations.manage";
const ENTITLEMENT = "integrations";
const LIVE_SUBSCRIPTIONS: ReadonlySet<string | null> = new Set(["active", "trialing"]);

export function permissionsFor(access: Access): string[] {
  return access === "view" ? [VIEW] : [VIEW, MANAGE];
}

/** Everything that a caller lacks for a route, the most general first; empty if the caller may use it. */
export function missingFor(access: Access, caller: Caller, requiredModule: string): Missing[] {
  const missing: Missing[] = [];
  function need(isThere: boolean, code: ProblemCode, what: string): void {
    if (!isThere) missing.push({ code, what });
  }
  const { organizationId, organizationFault: fault } = caller;
  need(organizationId !== null, "organization_missing", `organization${fault === null ? "" : ` (${fault})`}`);
  need(LIVE_SUBSCRIPTIONS.has(caller.subscription), "subscription_inactive", "active subscription");
  need(caller.modules.has(requiredModule), "module_missing", `module ${requiredModule}`);
  for (const permission of permissionsFor(access)) {
    need(caller.permissions.has(permission), "permission_missing", `permission ${permission}`);
  }
  if (access === "save")
    need(caller.entitlements.has(ENTITLEMENT), "entitlement_missing", `entitlement ${ENTITLEMENT}`);
  return missing;
}

/** The rights that a caller has and lacks, and the limits of this service. The page reads this before anything else. */
export function sessionOf(caller: Caller, config: ManagementApiConfig): SessionInfo {
  const missing = (access: "view" | "manage" | "save") => missingFor(access, caller, config.AUTH_REQUIRED_MODULE);
  return {
    subject: caller.subject,
    name: caller.name,
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
      // The publisher computes the same number, and keeps events for that long.
      retentionDays: Math.ceil(Math.max(config.RETENTION_DAYS, config.PUBLICATION_WINDOW_DAYS + 1)),
    },
    headerPrefix: config.HEADER_PREFIX,
  };
}
