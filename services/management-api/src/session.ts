import type { SessionInfo } from "@herald/contracts";
import { missingFor } from "./authentication/access.ts";
import type { Caller } from "./authentication/caller.ts";

/** What a caller may do and lacks, and what this service allows: all that a page needs to know before it asks for more. */
export function sessionOf(
  caller: Caller,
  requiredModule: string,
  service: Pick<SessionInfo, "limits" | "headerPrefix">,
): SessionInfo {
  const may = (access: "view" | "manage" | "save") => missingFor(access, caller, requiredModule).length === 0;
  return {
    subject: caller.subject,
    organizationId: caller.organizationId,
    mayView: may("view"),
    mayManage: may("save"),
    mayDelete: may("manage"),
    missing: missingFor("save", caller, requiredModule).map(({ what }) => what),
    expiresAtUtc: caller.expiresAt.toISOString(),
    ...service,
  };
}
