import type { EndpointOverview } from "@herald/contracts";
import { type EndpointStatus, endpointStatus } from "../../common/display/status.ts";

export const STATUSES = [
  "active",
  "failing",
  "quarantined",
  "paused",
  "disabled",
] as const satisfies readonly EndpointStatus[];

/** The status that the list is narrowed to, from the page's address. */
export function statusFromSearch(search: URLSearchParams): EndpointStatus | null {
  return STATUSES.find((status) => status === search.get("status")) ?? null;
}

/** The webhooks of a status, or all, ordered by name, so that a row keeps its place when its webhook's state changes. */
export function listed(webhooks: readonly EndpointOverview[], status: EndpointStatus | null): EndpointOverview[] {
  return inOrder(webhooks.filter((webhook) => status === null || endpointStatus(webhook) === status));
}

/** Those with a text in their name or URL, in any case. */
export function withText(webhooks: readonly EndpointOverview[], text: string): EndpointOverview[] {
  const wanted = text.trim().toLocaleLowerCase();
  return inOrder(webhooks.filter(({ name, url }) => `${name}\n${url}`.toLocaleLowerCase().includes(wanted)));
}

function inOrder(webhooks: readonly EndpointOverview[]): EndpointOverview[] {
  return [...webhooks].sort((one, other) => byName.compare(one.name, other.name) || (one.id < other.id ? -1 : 1));
}

const byName = new Intl.Collator(undefined, { numeric: true });
