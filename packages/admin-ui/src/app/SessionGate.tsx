import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { sessionQuery } from "../api/queries.ts";
import { LoadError, NotAllowed } from "../common/feedback/LoadError.tsx";
import { Skeleton } from "../common/feedback/Skeleton.tsx";
import { SessionContext } from "../common/session.tsx";

/** Shows its children to accounts that may view webhooks; tells others what is missing. */
export function SessionGate({ children }: { children: ReactNode }) {
  const { data, error } = useQuery(sessionQuery);
  if (data?.mayView) return <SessionContext value={data}>{children}</SessionContext>;
  if (data) return <NotAllowed missing={data.missing} />;
  if (error) return <LoadError error={error} what="your session" />;
  return <Skeleton rows={6} what="your session" />;
}
