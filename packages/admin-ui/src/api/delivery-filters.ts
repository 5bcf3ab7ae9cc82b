import { ID_PREFIX, OUTCOMES, type Outcome, type StartResendRequest } from "@herald/contracts";

/** What a list of deliveries or events is narrowed to. It lives in the page's address, so that it can be shared. */
export interface DeliveryFilters {
  outcomes: readonly Outcome[];
  eventTypes: readonly string[];
  /** An HTTP status of the latest attempt. */
  status: string | null;
  /** The id of a webhook. */
  webhook: string | null;
  /** How the id of an event or its entity begins. */
  idPrefix: string | null;
  /** Back from now; null where `from` or `to` is given. */
  period: Period | null;
  /** The first and the last day, as in 2026-11-20, in the browser's zone. */
  from: string | null;
  to: string | null;
}

export const NO_FILTERS: DeliveryFilters = {
  ...{ outcomes: [], eventTypes: [], status: null, webhook: null, idPrefix: null, period: null, from: null, to: null },
};

const periodHours = { "1h": 1, "24h": 24, "7d": 7 * 24 } as const;
export type Period = keyof typeof periodHours;
export const PERIODS = Object.keys(periodHours) as Period[];

/** Reads the filters from the page's address, and leaves out what it doesn't know. The API knows the events, and says of which it has none. */
export function filtersFromSearch(search: URLSearchParams): DeliveryFilters {
  const outcomes = new Set(search.getAll("outcome"));
  const period = search.get("period");
  const [from, to] = [search.get("from"), search.get("to")].map((day) => (day && DAY.test(day) ? day : null));
  const only = (name: string, rule: RegExp): string | null => {
    const value = search.get(name)?.trim() ?? "";
    return rule.test(value) ? value : null;
  };
  return {
    outcomes: OUTCOMES.filter((outcome) => outcomes.has(outcome)),
    eventTypes: [...new Set(search.getAll("event"))],
    status: only("status", STATUS),
    webhook: only("webhook", ID_PREFIX),
    idPrefix: only("id", ID_PREFIX),
    period: from || to ? null : (PERIODS.find((known) => known === period) ?? null),
    from: from ?? null,
    to: to ?? null,
  };
}

const DAY = /^\d{4}-\d\d-\d\d$/;
/** As the API takes it. */
export const STATUS = /^[1-9]\d\d$/;

/** A query of what is there: of a list, each of its items. */
export function queryOf(values: Record<string, unknown>): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const each of [value ?? []].flat()) query.append(name, String(each));
  }
  return query;
}

/** The address's form of the filters; nothing where nothing is narrowed. */
export function filtersToSearch(filters: DeliveryFilters): URLSearchParams {
  const { outcomes: outcome, eventTypes: event, status, webhook, idPrefix: id, period, from, to } = filters;
  return queryOf({ outcome, event, status, webhook, id, period, from, to });
}

export function isNarrowed(filters: DeliveryFilters): boolean {
  return filtersToSearch(filters).size > 0;
}

/** When the filters' time begins and ends, as the API has it. */
function timeOf({ period, from, to }: DeliveryFilters, now: number): { from?: string; to?: string } {
  if (period) return { from: beginningOf(period, now) };
  return { ...(from && { from: midnight(from, 0) }), ...(to && { to: midnight(to, 1) }) };
}

/** When a day begins in the browser's zone, or one so many days after it. */
function midnight(day: string, later: number): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + later).toISOString();
}

/** When a period began that ends now, to the minute. */
function beginningOf(period: Period, now: number): string {
  const minute = 60_000;
  const from = now - periodHours[period] * 60 * minute;
  return new Date(Math.floor(from / minute) * minute).toISOString();
}

/** What of these filters holds for sending again, as the API has it. */
export function resendFilter(filters: DeliveryFilters, now: number = Date.now()): StartResendRequest {
  const { eventTypes, status } = filters;
  return {
    ...(eventTypes.length > 0 && { eventType: [...eventTypes] }),
    ...(status && { statusCode: [Number(status)] }),
    ...timeOf(filters, now),
  };
}

/** The API's form of the filters for a list of events. */
export function filtersToEvents(
  filters: DeliveryFilters,
  cursor: string | null,
  now: number = Date.now(),
): URLSearchParams {
  const { idPrefix, eventTypes: type } = filters;
  return queryOf({ idPrefix, ...timeOf(filters, now), limit: 20, type, cursor });
}

/** The API's form of the filters for a list of deliveries. A period counts back from the moment of the request. */
export function filtersToQuery(
  filters: DeliveryFilters,
  part: { limit: number; cursor: string | null },
  now: number = Date.now(),
): URLSearchParams {
  const { outcomes: outcome, eventTypes: eventType, status: statusCode, webhook: endpointId, idPrefix } = filters;
  return queryOf({ ...part, outcome, eventType, statusCode, endpointId, idPrefix, ...timeOf(filters, now) });
}
