import type { EndpointOverview } from "@herald/contracts";
import { type EndpointStatus, endpointStatus } from "../../common/display/endpoint-status.ts";

export const STATUSES = [
  "active",
  "failing",
  "quarantined",
  "paused",
  "disabled",
] as const satisfies readonly EndpointStatus[];

export interface ListFilter {
  status: EndpointStatus | null;
}

export function listFilterFromSearch(search: URLSearchParams): ListFilter {
  return { status: STATUSES.find((status) => status === search.get("status")) ?? null };
}

export function listFilterToSearch({ status }: ListFilter): URLSearchParams {
  return new URLSearchParams(status ? { status } : {});
}

/** The webhooks that pass a filter, ordered by name, so that a row keeps its place when its webhook's state changes. */
export function listed(webhooks: readonly EndpointOverview[], { status }: ListFilter): EndpointOverview[] {
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

export function countByStatus(webhooks: readonly EndpointOverview[]): Record<EndpointStatus, number> {
  const counts = { active: 0, failing: 0, quarantined: 0, paused: 0, disabled: 0 };
  for (const webhook of webhooks) counts[endpointStatus(webhook)] += 1;
  return counts;
}
