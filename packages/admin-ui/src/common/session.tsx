import type { SessionInfo } from "@herald/contracts";
import { createContext, useContext } from "react";

export const SessionContext = createContext<SessionInfo | null>(null);

/** The person who is signed in, and their rights. @throws outside of `SessionGate`, which loads it */
export function useSession(): SessionInfo {
  const session = useContext(SessionContext);
  if (!session) throw new Error("useSession was called outside of SessionGate");
  return session;
}

/** Why the controls that change something are off; null if they are on. */
export function useManageBlock(): string | null {
  const { mayManage, missing } = useSession();
  return mayManage ? null : `You may look, not change: ${lacking(missing)}.`;
}

export function useDeleteBlock(): string | null {
  const { mayDelete, missing } = useSession();
  return mayDelete ? null : `You may look, not delete: ${lacking(missing)}.`;
}

/** "your account lacks the permission integrations.manage and the entitlement integrations" */
export function lacking(missing: readonly string[]): string {
  if (missing.length === 0) return "your account is not allowed to";
  return `your account lacks ${new Intl.ListFormat("en-GB").format(missing.map((item) => `the ${item}`))}`;
}
