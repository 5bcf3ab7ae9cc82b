import { useEffect, useRef } from "react";
import { Button } from "../form/Button.tsx";
import css from "./NextPage.module.css";

/** A list that is loaded part by part. */
export interface Paged {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  fetchNextPage: () => unknown;
}

interface Props {
  query: Paged;
  count: number;
  /** What the list is of, as in "deliveries". */
  what: string;
}

const AHEAD = "600px";

/** Older rows come as one scrolls; by keyboard there is a button. */
export function NextPage({ query, count, what }: Props) {
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = query;
  const sentinel = useRef<HTMLDivElement>(null);
  const armed = hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  useEffect(() => {
    if (!armed || !sentinel.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) fetchNextPage();
      },
      { rootMargin: AHEAD },
    );
    observer.observe(sentinel.current);
    return () => observer.disconnect();
  }, [armed, fetchNextPage]);
  if (!hasNextPage) return count > 0 ? <p className={css.end}>There are no more.</p> : null;
  return (
    <div ref={sentinel} className={css.more}>
      <Button kind="quiet" busy={isFetchingNextPage} onClick={() => fetchNextPage()}>
        {isFetchNextPageError ? `Could not load older ${what}: try again` : `Load older ${what}`}
      </Button>
    </div>
  );
}
