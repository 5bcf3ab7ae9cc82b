import type {
  DeliverRequest,
  DeliveryDetails,
  DeliveryPage,
  EndpointChangePage,
  EndpointDetails,
  EndpointOverview,
  EndpointRates,
  EventDetails,
  EventPage,
  EventTypeInfo,
  FieldProblem,
  Resend,
  ResendPage,
  ResendPreview,
  SaveWebhookRequest,
  SaveWebhookResponse,
  SessionInfo,
  StartResendRequest,
  WebhookDeliverySummary,
} from "@herald/contracts";
import { infiniteQueryOptions, keepPreviousData, type QueryClient, queryOptions } from "@tanstack/react-query";
import { hasEnded } from "../common/display/status.ts";
import { ApiProblem, assertAbout, call, type Keys } from "./client.ts";
import { connectionNow, quietMs } from "./connection.ts";
import { type Filters, parametersOf, queryOf, resendFilter } from "./filters.ts";

/** New results show within two seconds: this interval, and the time that an answer takes. */
const LIVE_MS = 1_500;
/** The page waits this many times as long as the overview's answer took before it asks again: one slow answer must not leave it old for a minute. */
const OVERVIEW_PAUSE = 10;
const LONGEST_OVERVIEW_PAUSE_MS = 15_000;
let overviewTookMs = 0;
const ALL_PAGES_MS = 5_000;
/** They are counted once a minute. */
const RATES_MS = 15_000;
const RECOVERY_MS = 5_000;
const PAGE_SIZE = 50;

/**
 * An interval of `ms`; of a few seconds while the API doesn't answer or the session is over, to notice a change; and no
 * shorter than an API asks for that was asked too much. None after a 400: the same request would get the same answer.
 */
function every(ms: number): (query: { state: { error: unknown } }) => number | false {
  return ({ state: { error } }) => {
    if (error instanceof ApiProblem && error.status === 400) return false;
    const { downSince, session } = connectionNow();
    return Math.max(downSince !== null || session !== "alive" ? RECOVERY_MS : ms, quietMs());
  };
}

/** Options of a list that the API gives part by part. */
const parts = {
  initialPageParam: null as string | null,
  getNextPageParam: ({ nextCursor }: { nextCursor: string | null }) => nextCursor,
};

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: async ({ signal }) => {
    const session = await call<SessionInfo>("/session", { signal });
    assertAbout(session);
    return session;
  },
  staleTime: 30_000,
  refetchInterval: every(60_000),
});

export const eventTypesQuery = queryOptions({
  queryKey: ["event-types"],
  queryFn: ({ signal }) => call<EventTypeInfo[]>("/event-types", { signal }),
  staleTime: Number.POSITIVE_INFINITY,
  refetchInterval: (query) => query.state.data === undefined && every(RECOVERY_MS)(query),
});

export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: async ({ signal }) => {
    const begun = performance.now();
    const overview = await call<EndpointOverview[]>("/webhooks/overview", { signal });
    overviewTookMs = performance.now() - begun;
    return overview;
  },
  // The overview is the API's most expensive query. If it takes long, it is asked less often, so that open pages are no load.
  refetchInterval: (query) =>
    every(Math.min(LONGEST_OVERVIEW_PAUSE_MS, Math.max(LIVE_MS, OVERVIEW_PAUSE * overviewTookMs)))(query),
});

const ofWebhook = <Answer>(name: string, id: string, { part = "", ms }: { part?: string; ms: number }) =>
  queryOptions({
    queryKey: [name, id],
    queryFn: ({ signal }) => call<Answer>(`/webhooks/${id}${part}`, { signal }),
    refetchInterval: every(ms),
  });

export const webhookQuery = (id: string) => ofWebhook<EndpointDetails>("webhook", id, { ms: LIVE_MS });
export const ratesQuery = (id: string) => ofWebhook<EndpointRates>("rates", id, { part: "/rates", ms: RATES_MS });

/** @param id the webhook's; null for all of the organization's */
export const deliveriesQuery = (id: string | null, filters: Filters) =>
  infiniteQueryOptions({
    queryKey: ["deliveries", id, filters],
    queryFn: ({ pageParam: cursor, signal }) => {
      const place = id === null ? "/deliveries" : `/webhooks/${id}/deliveries`;
      const query = queryOf({ ...parametersOf(filters), limit: PAGE_SIZE, cursor });
      return call<DeliveryPage>(`${place}?${query}`, { signal });
    },
    ...parts,
    placeholderData: keepPreviousData,
    // The deliveries of all webhooks cost the API more, and so do many pages, which are loaded one after the other.
    refetchInterval: (query) => {
      const pages = query.state.data?.pages.length ?? 1;
      return every(pages === 1 && id !== null ? LIVE_MS : ALL_PAGES_MS * pages)(query);
    },
  });

export const deliveryQuery = (id: string, deliveryId: string) =>
  queryOptions({
    queryKey: ["delivery", id, deliveryId],
    queryFn: ({ signal }) => call<DeliveryDetails>(`/webhooks/${id}/deliveries/${deliveryId}`, { signal }),
    refetchInterval: (query) => {
      const outcome = query.state.data?.outcome;
      return outcome !== undefined && hasEnded(outcome) ? false : every(LIVE_MS)(query);
    },
  });

/** @param id the webhook's; null for all of the organization's, deleted ones too */
export const changesQuery = (id: string | null) =>
  infiniteQueryOptions({
    queryKey: ["changes", id],
    queryFn: ({ pageParam: cursor, signal }) => {
      const place = id === null ? "/changes" : `/webhooks/${id}/changes`;
      return call<EndpointChangePage>(`${place}?${queryOf({ limit: PAGE_SIZE, cursor })}`, { signal });
    },
    ...parts,
    refetchInterval: every(ALL_PAGES_MS),
  });

/** A webhook's newest changes, from which a conflict knows what no answer has. */
export const newestChanges = (id: string) => call<EndpointChangePage>(`/webhooks/${id}/changes?limit=100`);

export type PreviewOfResend = ResendPreview & { filter: StartResendRequest };

export const resendPreviewQuery = (id: string, filters: Filters) =>
  queryOptions({
    queryKey: ["resend-preview", id, filters],
    queryFn: async ({ signal }): Promise<PreviewOfResend> => {
      const filter = resendFilter(filters);
      const preview = await call<ResendPreview>(`/webhooks/${id}/resends/preview?${queryOf({ ...filter })}`, {
        signal,
      });
      return { ...preview, filter };
    },
    placeholderData: keepPreviousData,
    refetchInterval: every(ALL_PAGES_MS),
  });

export const resendsQuery = (id: string) =>
  queryOptions({
    queryKey: ["resends", id],
    queryFn: ({ signal }) => call<ResendPage>(`/webhooks/${id}/resends`, { signal }),
    refetchInterval: (query) => {
      const isUnderWay = query.state.data?.resends.some(
        ({ state, unfinished }) => state === "running" || unfinished > 0,
      );
      return every(isUnderWay ? LIVE_MS : ALL_PAGES_MS)(query);
    },
  });

export const eventsQuery = (filters: Filters) =>
  infiniteQueryOptions({
    queryKey: ["events", filters],
    queryFn: ({ pageParam: cursor, signal }) => {
      const { eventType: type, ...others } = parametersOf(filters);
      return call<EventPage>(`/events?${queryOf({ ...others, type, limit: 20, cursor })}`, { signal });
    },
    ...parts,
    placeholderData: keepPreviousData,
    refetchInterval: (query) => every(ALL_PAGES_MS * (query.state.data?.pages.length ?? 1))(query),
  });

/** Finds the id of an event, a delivery or an entity. An entity's events may have more parts. */
export const searchQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ["search", id],
    queryFn: async ({ pageParam, signal }) => {
      const find = (query: string) => call<EventPage>(`/events?${query}`, { signal });
      const ofEntity = `entityId=${id}`;
      if (pageParam !== null) return await find(`${ofEntity}&cursor=${pageParam}`);
      return merged(await Promise.all([find(`id=${id}`), find(`deliveryId=${id}`), find(ofEntity)]));
    },
    ...parts,
    refetchInterval: every(ALL_PAGES_MS),
  });

/** Merges several searches for one id. At most the last one has more parts. An event that two of them found is there once. */
function merged(pages: EventPage[]): EventPage {
  const byKey = new Map(pages.flatMap(({ events }) => events).map((event) => [event.key, event]));
  return {
    events: [...byKey.values()],
    manualDelivery: pages.find((page) => page.manualDelivery !== null)?.manualDelivery ?? null,
    undelivered: pages.flatMap(({ undelivered }) => undelivered),
    nextCursor: pages.at(-1)?.nextCursor ?? null,
  };
}

export const eventQuery = (key: string) =>
  queryOptions({
    queryKey: ["event", key],
    queryFn: ({ signal }) => call<EventDetails>(`/events/${key}`, { signal }),
    refetchInterval: every(ALL_PAGES_MS),
  });

type Settings = Omit<SaveWebhookRequest, "events"> & { events: readonly string[] };

export const createWebhook = (body: Settings, keys: Keys) =>
  call<SaveWebhookResponse>("/webhooks", { method: "POST", body, keys });

export const saveWebhook = (id: string, body: Settings, keys: Keys) =>
  call<SaveWebhookResponse>(`/webhooks/${id}`, { method: "PUT", body, keys });

export const deleteWebhook = (id: string, version: string) =>
  call<void>(`/webhooks/${id}`, { method: "DELETE", body: { version } });

export const deliverManually = (id: string, body: DeliverRequest, keys: Keys) =>
  call<WebhookDeliverySummary>(`/webhooks/${id}/deliver`, { method: "POST", body, keys });

export const startResend = (id: string, body: StartResendRequest, keys: Keys) =>
  call<Resend>(`/webhooks/${id}/resends`, { method: "POST", body, keys });

export const stopResend = (id: string, resendId: string) =>
  call<Resend>(`/webhooks/${id}/resends/${resendId}/stop`, { method: "POST" });

/** Asks again for all that a change of a webhook, or a delivery to it, changes. Resolves when the webhook is there. */
export function refresh(client: QueryClient, id: string): Promise<void> {
  for (const queryKey of [["overview"], ["deliveries", id]]) void client.invalidateQueries({ queryKey });
  return client.invalidateQueries({ queryKey: ["webhook", id] });
}

/** Asks the API what is wrong with these fields, without saving them. */
export const checkWebhook = (body: Partial<SaveWebhookRequest>, signal: AbortSignal) =>
  call<{ errors: FieldProblem[] }>("/webhooks/checks", { method: "POST", body, signal });
