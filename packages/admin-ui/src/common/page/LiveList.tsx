import { type ReactNode, useEffect, useMemo, useRef } from "react";
import { useSearch } from "wouter";
import { type Filters, filtersFromSearch, filtersInWords, isNarrowed, type List } from "../../api/filters.ts";
import { classNames } from "../class-names.ts";
import { EmptyState, NotLoaded } from "../feedback/LoadError.tsx";
import { RefreshProblem } from "../feedback/Notice.tsx";
import { Button, ButtonLink } from "../form/Button.tsx";
import shared from "../shared.module.css";
import { FilterBar, type FilterBarProps, focusFirstFilter } from "./FilterBar.tsx";
import css from "./page.module.css";

export interface Paged {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  fetchNextPage: () => unknown;
}

interface NextPageProps {
  query: Paged;
  count: number;
  /** Names the rows, as in "deliveries". */
  what: string;
}

/** Older rows come as one scrolls; by keyboard there is a button. */
export function NextPage({ query, count, what }: NextPageProps) {
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = query;
  const sentinel = useRef<HTMLDivElement>(null);
  const armed = hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  useEffect(() => {
    if (!armed || !sentinel.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) fetchNextPage();
      },
      { rootMargin: "600px" },
    );
    observer.observe(sentinel.current);
    return () => observer.disconnect();
  }, [armed, fetchNextPage]);
  if (!hasNextPage) return count > 0 ? <p className={classNames(shared.faint, css.more)}>There are no more.</p> : null;
  return (
    <div ref={sentinel} className={css.more}>
      <Button kind="quiet" busy={isFetchingNextPage} onClick={() => fetchNextPage()}>
        {isFetchNextPageError ? `Could not load older ${what}: try again` : `Load older ${what}`}
      </Button>
    </div>
  );
}

interface Props {
  query: Paged & { data: unknown; error: unknown; isPlaceholderData: boolean };
  count: number;
  /** Names the rows, as in "deliveries". */
  what: string;
  /** Stands in the list's place if it has no rows, and there are none to load. */
  none: ReactNode;
  children: ReactNode;
}

/** A list that is loaded part by part, and refreshed by itself; or why there is none. */
export function LiveList({ query, count, what, none, children }: Props) {
  if (query.data === undefined) return <NotLoaded error={query.error} what={`the ${what}`} />;
  return (
    <>
      <RefreshProblem error={query.error} what={`the ${what}`} />
      {count > 0 ? children : query.hasNextPage ? null : none}
      <NextPage query={query} count={count} what={what} />
    </>
  );
}

export function useFilters(list: List): Filters {
  const search = useSearch();
  return useMemo(() => filtersFromSearch(new URLSearchParams(search), list), [search, list]);
}

/** A list with a bar that narrows it, if there is anything to narrow. */
export function FilteredList({ children, none, ...props }: Props & FilterBarProps) {
  const { query, count, filters } = props;
  // The rows of other filters, which stay until the next ones are there, say nothing about the list.
  const narrowed = isNarrowed(filters) || query.isPlaceholderData;
  const isEmpty = query.data !== undefined && count === 0 && !query.hasNextPage && !narrowed;
  return (
    <>
      {isEmpty ? null : <FilterBar {...props} />}
      <LiveList {...props} none={narrowed ? <NoMatch {...props} filters={filtersInWords(props.list)} /> : none}>
        {children}
      </LiveList>
    </>
  );
}

export function NoMatch({ what, home, filters }: Record<"what" | "home" | "filters", string>) {
  return (
    <EmptyState
      icon="search"
      title={`No ${what} match`}
      action={<ButtonLink href={home} onClick={focusFirstFilter}>{`Show all ${what}`}</ButtonLink>}
    >
      <p>Choose another {filters}.</p>
    </EmptyState>
  );
}
