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
  /** Part of a name or URL, in any case. */
  text: string;
  status: EndpointStatus | null;
}

export function listFilterFromSearch(search: URLSearchParams): ListFilter {
  return { text: search.get("q") ?? "", status: STATUSES.find((status) => status === search.get("status")) ?? null };
}

export function listFilterToSearch({ text, status }: ListFilter): URLSearchParams {
  const search = new URLSearchParams();
  if (text) search.set("q", text);
  if (status) search.set("status", status);
  return search;
}

/** The webhooks that pass a filter, ordered by name, so that a row keeps its place when its webhook's state changes. */
export function listed(webhooks: readonly EndpointOverview[], { text, status }: ListFilter): EndpointOverview[] {
  const wanted = text.trim().toLocaleLowerCase();
  return webhooks
    .filter((webhook) => status === null || endpointStatus(webhook) === status)
    .filter(({ name, url }) => `${name}\n${url}`.toLocaleLowerCase().includes(wanted))
    .sort((one, other) => byName.compare(one.name, other.name) || (one.id < other.id ? -1 : 1));
}

const byName = new Intl.Collator(undefined, { numeric: true });

export function countByStatus(webhooks: readonly EndpointOverview[]): Record<EndpointStatus, number> {
  const counts = { active: 0, failing: 0, quarantined: 0, paused: 0, disabled: 0 };
  for (const webhook of webhooks) counts[endpointStatus(webhook)] += 1;
  return counts;
}
