import type { DeliveryListItem, DeliveryPage } from "@herald/contracts";
import { type InfiniteData, type UseInfiniteQueryResult, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import type { DeliveryFilters } from "../../api/delivery-filters.ts";
import { newestDeliveriesQuery } from "../../api/queries.ts";
import { mergeHead } from "./merge-head.ts";

type Pages = Pick<UseInfiniteQueryResult<InfiniteData<DeliveryPage>>, "data" | "refetch" | "isPlaceholderData">;

/** All rows that were loaded. Of many pages, the newest is kept up to date by itself. */
export function useDeliveryRows(
  id: string | null,
  filters: DeliveryFilters,
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
