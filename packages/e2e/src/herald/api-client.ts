import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type {
  EventDetails,
  EventPage,
  SaveWebhookRequest,
  SaveWebhookResponse,
  WebhookDeliverySummary,
  WebhookEndpointSummary,
} from "@herald/contracts";
import { developmentToken, FULL_ACCESS } from "@herald/dev/start/development-token";
import { JWT_SECRET } from "./settings.ts";

/** The management API as one organization's admin uses it; each call throws on any status but success. */
export type ApiClient = Awaited<ReturnType<typeof apiClient>>;

interface ApiClientOptions {
  /** Repeats what is answered with 503, as an integration does, until `timeoutMs` are over. */
  untilAvailable?: boolean;
  timeoutMs?: number;
  /** How long its token is good for; an API whose clock is days behind takes none that ends more than 31 days from its now. */
  tokenFor?: string;
  /** Sent with each call. */
  headers?: Record<string, string>;
}

/** How long a call may take: longer than the API waits for a dispatcher's answer, or for PostgreSQL. */
const TIMEOUT_MS = 45_000;

/** The token of an admin who may do everything in the organization. */
export async function adminToken(organizationId: string, validFor = "30d"): Promise<string> {
  return await developmentToken(JWT_SECRET, { organizationId, ...FULL_ACCESS }, validFor);
}

/** A client of the management API at this URL without a path, which is asked for with each call where it may move. */
export async function apiClient(
  apiUrl: string | (() => string),
  organizationId: string = randomUUID(),
  { untilAvailable = false, timeoutMs = TIMEOUT_MS, tokenFor, headers }: ApiClientOptions = {},
) {
  const token = await adminToken(organizationId, tokenFor);
  const address = typeof apiUrl === "string" ? () => apiUrl : apiUrl;

  /** Any call: `path` is what follows `/webhooks`. */
  const call = <T>(method: string, path: string, body?: object) => send<T>(method, `/webhooks${path}`, body);

  async function send<T>(method: string, path: string, body?: object): Promise<T> {
    const url = `${address()}/api/organization/integration-operations${path}`;
    const { status, ok, text } = await inTime(`${method} ${url}`, () => exchange(method, url, body));
    if (!ok) throw new Error(`${method} ${url} answered ${status}: ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  /** Beside the signal, since `fetch` has left calls unsettled for good whose server was killed, whatever their signal said. */
  async function inTime<R>(call: string, task: () => Promise<R>): Promise<R> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${call} did not end within ${timeoutMs} ms.`)), timeoutMs + 1_000);
    });
    try {
      return await Promise.race([task(), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async function exchange(method: string, url: string, body?: object) {
    const signal = AbortSignal.timeout(timeoutMs);
    const request = () =>
      fetch(url, {
        method,
        signal,
        headers: {
          authorization: `Bearer ${token}`,
          ...headers,
          connection: "close",
          ...(body && { "content-type": "application/json" }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
    let response = await request();
    while (untilAvailable && response.status === 503) {
      await response.body?.cancel();
      await sleep(200);
      response = await request();
    }
    return { status: response.status, ok: response.ok, text: await response.text() };
  }

  async function get(id: string): Promise<WebhookEndpointSummary> {
    const found = (await call<WebhookEndpointSummary[]>("GET", "")).find((endpoint) => endpoint.id === id);
    if (!found) throw new Error(`The list has no endpoint ${id}.`);
    return found;
  }

  return {
    organizationId,
    list: () => call<WebhookEndpointSummary[]>("GET", ""),
    read: <T>(path: string) => call<T>("GET", path),
    get,
    create(request: Partial<SaveWebhookRequest> & { url: string }) {
      const defaults = { name: "Receiver", enabled: true, events: ["WorkItemCompleted"], version: null };
      return call<SaveWebhookResponse>("POST", "", { ...defaults, ...request });
    },
    async edit(id: string, changes: Partial<SaveWebhookRequest>) {
      const { name, url, enabled, events, version } = await get(id);
      return await call<SaveWebhookResponse>("PUT", `/${id}`, { name, url, enabled, events, version, ...changes });
    },
    delete: async (id: string) => call<void>("DELETE", `/${id}`, { version: (await get(id)).version }),
    deliver: (id: string, eventType: string, payloadJson: string) =>
      call<WebhookDeliverySummary>("POST", `/${id}/deliver`, { eventType, payloadJson }),
    /** Searches for events, by the query parameters of a search. */
    find: (query: string) => send<EventPage>("GET", `/events?${query}`),
    /** One event with its body, and what became of it at each endpoint. */
    event: (key: string) => send<EventDetails>("GET", `/events/${key}`),
    call,
  };
}
