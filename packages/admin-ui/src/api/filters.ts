import { ID_PREFIX, OUTCOMES, type Outcome, type StartResendRequest } from "@herald/contracts";
import { meaningOf, outcomeWords } from "../common/display/status.ts";
import { serverNow } from "./connection.ts";

export interface Option {
  value: string;
  words: string;
  hint?: string;
  group?: string;
}

/** The options of a filter depend on these. */
interface Context {
  webhooks: readonly { id: string; name: string }[];
  eventTypes: readonly { name: string }[];
  /** The events of the one webhook that the list is of. */
  subscribed: readonly string[];
  chosen: readonly string[];
}

/** A webhook's deliveries, those that its receiver never got, all deliveries, and all events. */
const LISTS = ["webhook", "never-got", "deliveries", "events"] as const;
export type List = (typeof LISTS)[number];

interface Filter {
  lists: readonly List[];
  kind: "choices" | "select" | "text" | "day";
  label: string;
  /** Values from the page's address that it does not accept are left out. */
  accepts: (value: string) => boolean;
  /** The parameter of the API, except for times. */
  parameter?: "outcome" | "endpointId" | "eventType" | "statusCode" | "idPrefix";
  /** The address can name several values. */
  many?: true;
  /** The option that narrows nothing. */
  all?: string;
  options?: (context: Context) => Option[];
  placeholder?: string;
  size?: number;
}

const periods = {
  "1h": { hours: 1, words: "Last hour" },
  "24h": { hours: 24, words: "Last 24 hours" },
  "7d": { hours: 7 * 24, words: "Last 7 days" },
};
type Period = keyof typeof periods;

const isPeriod = (value: string): value is Period => Object.hasOwn(periods, value);
const isIdPrefix = (value: string) => ID_PREFIX.test(value);
const isDay = (value: string) => /^\d{4}-\d\d-\d\d$/.test(value);

/** The filters of lists, by their names in the page's address and in words. Bar, address, requests and words are made from this table. */
const table = {
  outcome: {
    lists: ["webhook", "deliveries"],
    kind: "choices",
    label: "Outcome",
    parameter: "outcome",
    many: true,
    accepts: (value) => Object.hasOwn(OUTCOMES, value),
    all: "All",
    options: () =>
      (Object.keys(OUTCOMES) as Outcome[]).map((value) => ({
        value,
        words: outcomeWords[value],
        hint: meaningOf(value),
      })),
  },
  webhook: {
    lists: ["deliveries"],
    kind: "select",
    label: "Webhook",
    parameter: "endpointId",
    accepts: isIdPrefix,
    all: "Every webhook",
    options: ({ webhooks, chosen }) => [
      ...chosen
        .filter((value) => !webhooks.some(({ id }) => id === value))
        .map((value) => ({ value, words: "Another webhook" })),
      ...webhooks.map(({ id, name }) => ({ value: id, words: name })),
    ],
  },
  event: {
    lists: LISTS,
    kind: "select",
    label: "Event",
    parameter: "eventType",
    many: true,
    // The API knows the events, and says which ones are unknown.
    accepts: (value) => value !== "",
    all: "Every event",
    options: ({ eventTypes, subscribed, chosen }) =>
      [...new Set([...eventTypes.map(({ name }) => name), ...subscribed, ...chosen])].map((value) => ({
        value,
        words: value,
        ...(subscribed.length > 0 && { group: subscribed.includes(value) ? "Subscribed" : "Others" }),
      })),
  },
  period: {
    lists: LISTS,
    kind: "select",
    label: "Period",
    accepts: isPeriod,
    all: "Any time",
    options: () => Object.entries(periods).map(([value, { words }]) => ({ value, words })),
  },
  from: { lists: LISTS, kind: "day", label: "First day", accepts: isDay },
  to: { lists: LISTS, kind: "day", label: "Last day", accepts: isDay },
  status: {
    lists: ["webhook", "never-got", "deliveries"],
    kind: "text",
    label: "Response status",
    parameter: "statusCode",
    accepts: (value) => /^[1-9]\d\d$/.test(value),
    placeholder: "Status",
    size: 6,
  },
  id: {
    lists: ["webhook", "deliveries", "events"],
    kind: "text",
    label: "Id of the event or its entity: the first eight digits or more",
    parameter: "idPrefix",
    accepts: isIdPrefix,
    placeholder: "Event or entity id",
    size: 16,
  },
} satisfies Record<string, Filter>;

export type FilterName = keyof typeof table;
export const FILTERS: Record<FilterName, Filter> = table;

/** The chosen values. They live in the page's address, so that a narrowed list can be shared. */
export type Filters = Partial<Record<FilterName, readonly string[] | undefined>>;

export function filtersOf(list: List): FilterName[] {
  return (Object.keys(FILTERS) as FilterName[]).filter((name) => FILTERS[name].lists.includes(list));
}

/** Reads a list's filters from the page's address. Days go before a period. */
export function filtersFromSearch(search: URLSearchParams, list: List): Filters {
  const filters: Filters = {};
  for (const name of filtersOf(list)) {
    const { accepts, many } = FILTERS[name];
    const values = search.getAll(name).map((value) => value.trim());
    const accepted = [...new Set(values.filter(accepts))].slice(0, many ? undefined : 1);
    if (accepted.length > 0) filters[name] = accepted;
  }
  if (filters.from || filters.to) delete filters.period;
  return filters;
}

/** "outcome, event or period" */
export function filtersInWords(list: List): string {
  const names = filtersOf(list).filter((name) => FILTERS[name].kind !== "day");
  return new Intl.ListFormat("en-GB", { type: "disjunction" }).format(names);
}

/** Query parameters; a list gives one for each of its items. */
export function queryOf(values: Record<string, unknown>): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const each of [value ?? []].flat()) query.append(name, String(each));
  }
  return query;
}

export function isNarrowed(filters: Filters): boolean {
  return queryOf(filters).size > 0;
}

type Parameters = Partial<Record<NonNullable<Filter["parameter"]>, readonly string[]>> & { from?: string; to?: string };

/** The filters as the API's parameters. A period counts back from `now`, which is the server's. */
export function parametersOf(filters: Filters, now: number = serverNow()): Parameters {
  const { period: [period = ""] = [], from: [first] = [], to: [last] = [] } = filters;
  // Two days in the wrong order mean the time between them. The bar keeps them as they are, since a year is typed digit by digit.
  const [from, to] = first && last ? [first, last].sort() : [first, last];
  const parameters: Parameters = isPeriod(period)
    ? { from: beginningOf(period, now) }
    : { ...(from && { from: midnight(from, 0) }), ...(to && { to: midnight(to, 1) }) };
  for (const [name, { parameter }] of Object.entries(FILTERS)) {
    const values = filters[name as FilterName];
    if (parameter && values) parameters[parameter] = values;
  }
  return parameters;
}

/** Times of the API have a year of four digits. */
const LAST_MS = Date.UTC(9999, 11, 31);

/** When a day begins in the browser's zone, or a day that is `later` days after it. */
function midnight(day: string, later: number): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  const time = new Date(year, month - 1, date + later).getTime();
  return new Date(Math.min(time, LAST_MS)).toISOString();
}

/** When a period began that ends now, to the minute. */
function beginningOf(period: Period, now: number): string {
  const minute = 60_000;
  const from = now - periods[period].hours * 60 * minute;
  return new Date(Math.floor(from / minute) * minute).toISOString();
}

export function resendFilter(filters: Filters, now?: number): StartResendRequest {
  const { eventType, statusCode, from, to } = parametersOf(filters, now);
  return {
    ...(eventType && { eventType: [...eventType] }),
    ...(statusCode && { statusCode: statusCode.map(Number) }),
    ...(from && { from }),
    ...(to && { to }),
  };
}
