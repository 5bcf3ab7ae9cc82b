import { type ExportFormat, OUTCOMES, type Outcome, type StartResendRequest } from "@herald/contracts";

/** What a list of deliveries is narrowed to. It lives in the page's address, so that it can be shared. */
export interface DeliveryFilters {
  outcomes: readonly Outcome[];
  eventTypes: readonly string[];
  period: Period | null;
}

const periodHours = { "1h": 1, "24h": 24, "7d": 7 * 24 } as const;
export type Period = keyof typeof periodHours;
export const PERIODS = Object.keys(periodHours) as Period[];

/** Reads the filters from the page's address, and leaves out what it doesn't know. The API knows the events, and says of which it has none. */
export function filtersFromSearch(search: URLSearchParams): DeliveryFilters {
  const outcomes = new Set(search.getAll("outcome"));
  const period = search.get("period");
  return {
    outcomes: OUTCOMES.filter((outcome) => outcomes.has(outcome)),
    eventTypes: [...new Set(search.getAll("event"))],
    period: PERIODS.find((known) => known === period) ?? null,
  };
}

/** The address's form of the filters; nothing where nothing is narrowed. */
export function filtersToSearch(filters: DeliveryFilters): URLSearchParams {
  const search = new URLSearchParams();
  for (const outcome of filters.outcomes) search.append("outcome", outcome);
  for (const type of filters.eventTypes) search.append("event", type);
  if (filters.period) search.set("period", filters.period);
  return search;
}

export function isNarrowed({ outcomes, eventTypes, period }: DeliveryFilters): boolean {
  return outcomes.length > 0 || eventTypes.length > 0 || period !== null;
}

/** When a period began that ends now, to the minute. */
function beginningOf(period: Period, now: number): string {
  const minute = 60_000;
  const from = now - periodHours[period] * 60 * minute;
  return new Date(Math.floor(from / minute) * minute).toISOString();
}

/** What of these filters holds for sending again, as the API has it. */
export function resendFilter({ eventTypes, period }: DeliveryFilters, now: number = Date.now()): StartResendRequest {
  return {
    ...(eventTypes.length > 0 && { eventType: [...eventTypes] }),
    ...(period && { from: beginningOf(period, now) }),
  };
}

/** The API's form of the filters. A period counts back from the moment of the request. */
export function filtersToQuery(
  filters: DeliveryFilters,
  limit: number,
  cursor: string | null,
  now: number = Date.now(),
): URLSearchParams {
  const query = new URLSearchParams({ limit: String(limit) });
  if (cursor !== null) query.set("cursor", cursor);
  appendFilters(query, filters, now);
  return query;
}

/** The same for an export, which has no parts. */
export function filtersToExport(
  filters: DeliveryFilters,
  { format, bodies }: { format: ExportFormat; bodies: boolean },
  now: number = Date.now(),
): URLSearchParams {
  const query = new URLSearchParams({ format, bodies: String(bodies) });
  appendFilters(query, filters, now);
  return query;
}

function appendFilters(query: URLSearchParams, filters: DeliveryFilters, now: number): void {
  for (const outcome of filters.outcomes) query.append("outcome", outcome);
  for (const type of filters.eventTypes) query.append("eventType", type);
  if (filters.period) query.set("from", beginningOf(filters.period, now));
}
