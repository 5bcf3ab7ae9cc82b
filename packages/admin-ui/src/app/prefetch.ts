import { isUuid } from "@herald/contracts";
import type { QueryClient } from "@tanstack/react-query";
import { filtersFromSearch } from "../api/delivery-filters.ts";
import { deliveriesQuery, overviewQuery, sessionQuery, webhookQuery } from "../api/queries.ts";

/**
 * Asks for what the first scene needs at once, rather than one answer after the other: the session decides only what is shown.
 * @param place the path below the page's own, e.g. "/webhooks/…".
 */
export function prefetch(client: QueryClient, place: string, search: string): void {
  void client.prefetchQuery(sessionQuery);
  if (place === "" || place === "/") void client.prefetchQuery(overviewQuery);
  const id = /^\/webhooks\/([^/]+)/.exec(place)?.[1];
  if (!isUuid(id)) return;
  void client.prefetchQuery(webhookQuery(id));
  void client.prefetchInfiniteQuery(deliveriesQuery(id, filtersFromSearch(new URLSearchParams(search))));
  void import("../scenes/webhook/WebhookPage.tsx");
}
