import type { DeliveryListItem, DeliveryPage } from "@herald/contracts";
import { type InfiniteData, type UseInfiniteQueryResult, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import type { Filters } from "../../api/filters.ts";
import { newestDeliveriesQuery } from "../../api/queries.ts";

/**
 * Puts the newest page, which is refreshed often, on top of all loaded pages, which are refreshed rarely.
 * If both know a row, the newest page is right. A row that it should have and has not is gone.
 * @param loaded newest first. @returns newest first; null if the two no longer touch: rows between them are unknown.
 */
export function mergeHead(head: DeliveryPage, loaded: readonly DeliveryListItem[]): DeliveryListItem[] | null {
  const last = head.deliveries.at(-1);
  if (head.nextCursor === null) return head.deliveries;
  if (last === undefined) return null;
  const overlap = loaded.findIndex(({ id }) => id <= last.id);
  const known = new Set(loaded.map(({ id }) => id));
  const touches = head.deliveries.some(({ id }) => known.has(id));
  if (!touches) return null;
  // Lists are in the order of their ids, which are made of the time.
  const older = overlap < 0 ? [] : loaded.slice(overlap).filter(({ id }) => id !== last.id);
  return [...head.deliveries, ...older];
}

type Pages = Pick<UseInfiniteQueryResult<InfiniteData<DeliveryPage>>, "data" | "refetch" | "isPlaceholderData">;

/** All rows that were loaded. The newest one of many pages is refreshed by itself. */
export function useDeliveryRows(
  id: string | null,
  filters: Filters,
  { data, refetch, isPlaceholderData }: Pages,
): readonly DeliveryListItem[] {
  const hasMany = !isPlaceholderData && (data?.pages.length ?? 0) > 1;
  const { data: newest } = useQuery(newestDeliveriesQuery(id, filters, hasMany));
  const loaded = useMemo(() => data?.pages.flatMap((page) => page.deliveries) ?? [], [data]);
  const merged = useMemo(() => (hasMany && newest ? mergeHead(newest, loaded) : loaded), [hasMany, newest, loaded]);
  const cameApart = merged === null;
  useEffect(() => {
    if (cameApart) void refetch();
  }, [cameApart, refetch]);
  return merged ?? loaded;
}
