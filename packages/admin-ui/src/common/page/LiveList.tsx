import type { ReactNode } from "react";
import { LoadError } from "../feedback/LoadError.tsx";
import { RefreshProblem } from "../feedback/Notice.tsx";
import { Skeleton } from "../feedback/Skeleton.tsx";
import { NextPage, type Paged } from "./NextPage.tsx";

interface Props {
  query: Paged & { data: unknown; error: unknown };
  /** Rows that are loaded. */
  count: number;
  /** What the list is of, as in "deliveries". */
  what: string;
  /** Stands in the list's place where it has no rows, and there are none to load. */
  none: ReactNode;
  /** Rows of the picture that stands in the list's place until the first part is there. */
  skeletonRows?: number;
  /** The rows. */
  children: ReactNode;
}

/** A list that is loaded part by part, and refreshed by itself; or why there is none. */
export function LiveList({ query, count, what, none, skeletonRows = 8, children }: Props) {
  if (query.data === undefined) {
    if (query.error) return <LoadError error={query.error} what={`the ${what}`} level={2} />;
    return <Skeleton rows={skeletonRows} what={what} />;
  }
  return (
    <>
      <RefreshProblem error={query.error} what={`the ${what}`} />
      {count > 0 ? children : query.hasNextPage ? null : none}
      <NextPage query={query} count={count} what={what} />
    </>
  );
}
