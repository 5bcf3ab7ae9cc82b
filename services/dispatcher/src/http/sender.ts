import type { Clock } from "@herald/common/runtime/clock";
import { type AddressRules, createAddressGuard, type Resolve } from "@herald/common/security/address-guard";
import { attemptHeaders, type HeaderSettings } from "@herald/common/security/attempt-headers";
import { createNameResolver, type NameResolver } from "@herald/common/security/name-resolver";
import type { TlsFiles } from "@herald/common/security/tls-files";
import type { AttemptResult } from "../sql/rows.ts";
import { createConnections } from "./connections.ts";
import type { EgressProxy } from "./egress-proxy.ts";
import { type Exchange, exchange, type Unanswered } from "./exchange.ts";
import {
  type AttemptError,
  BAD_REQUEST,
  BAD_URL,
  clockShownBy,
  failureOf,
  isAlert,
  ownFaultOf,
  TIMED_OUT,
} from "./failure.ts";
import { clockShownIn, responseExcerpt, retryAfterMs } from "./response.ts";
import { createTargets } from "./target.ts";

export interface AttemptRequest {
  deliveryId: string;
  eventType: string;
  url: string;
  /** In plain, as the own headers are. */
  secret: string;
  /** A flat list of names and values. */
  ownHeaders?: readonly string[];
  /** Sent and signed exactly; text as its UTF-8 bytes. */
  body: string | Buffer;
  traceparent?: string | undefined;
}

export interface SenderOptions extends Partial<HeaderSettings> {
  /** For DNS, connect, TLS and response headers together (SPEC 8). */
  deadlineMs?: number;
  addresses: AddressRules;
  extraAuthorities?: TlsFiles | undefined;
  /** The connections that may be open at once, idle ones included. */
  maxConnections?: number;
  proxy?: EgressProxy | undefined;
  /** Asks for the addresses of a name; the system's name servers by default. */
  resolve?: Resolve & Partial<Pick<NameResolver, "forget">>;
}

export type Sender = ReturnType<typeof createSender>;

/** A receiver, or what stands before it, has too much to do, or can do nothing now. */
const isBusy = (statusCode: number) => statusCode === 413 || statusCode === 429 || statusCode >= 500;

/** Sends attempts over connections that all endpoints share. One per process. */
export function createSender(options: SenderOptions) {
  const { deadlineMs = 15_000, headerPrefix = "X-Service", standardWebhooks = true } = options;
  const resolve = options.resolve ?? createNameResolver();
  const guard = createAddressGuard(options.addresses, resolve);
  const { proxy, maxConnections: most } = options;
  const connections = createConnections(guard, options.extraAuthorities, { proxy, deadlineMs, most });
  const targetOf = createTargets();

  async function deliver(request: AttemptRequest, clock: Clock, startedAt: Date): Promise<Exchange> {
    const startedMs = clock.monotonicMs();
    const target = targetOf(request.url);
    if (!target) return notSent({ code: BAD_URL, message: "" });
    const body = typeof request.body === "string" ? Buffer.from(request.body) : request.body;
    const settings = { headerPrefix, standardWebhooks };
    const headers = ["Host", target.hostHeader];
    headers.push(...attemptHeaders({ ...request, startedAt, body }, settings, request.secret));
    headers.push(...(request.ownHeaders ?? []));
    const outgoing = { target, headers, body };
    const trusted = connections.trusted();
    const leftMs = () => Math.max(0, deadlineMs - (clock.monotonicMs() - startedMs));
    const first = await exchange({ ...outgoing, agent: connections.reused, timeoutMs: deadlineMs }, clock);
    // The receiver may have moved.
    if (!first.answered && !first.reached) resolve.forget?.(target.host);
    let { again } = first;
    if (!first.answered && (await connections.failed(first.error, trusted, leftMs()))) again = "authorities changed";
    if (again === undefined || leftMs() === 0) return first;
    // The receiver had closed the connection while it was idle, or can't take the handshake. That does not mean that it refuses deliveries.
    const agent = connections.again(target, again);
    const second = await exchange({ ...outgoing, agent, timeoutMs: leftMs() }, clock);
    if (first.answered || again !== "handshake broken") return second;
    if (second.answered) connections.helped(target, agent);
    return second.answered ? second : moreTelling(first, second);
  }

  return {
    /** Makes one signed attempt. Never rejects: every failure is the attempt's result. */
    async send(request: AttemptRequest, clock: Clock): Promise<AttemptResult> {
      const startedAt = clock.now();
      const startedMs = clock.monotonicMs();
      let outcome: Exchange;
      try {
        outcome = await deliver(request, clock, startedAt);
      } catch (error) {
        const { message } = error as Error;
        outcome = notSent({ code: BAD_REQUEST, message });
      }
      const endedMs = outcome.answered ? outcome.answeredAtMs : clock.monotonicMs();
      return {
        startedAt,
        durationMs: Math.round(endedMs - startedMs),
        ...verdict(outcome, { deadlineMs, now: clock.now(), ownHeaders: request.ownHeaders }),
      };
    },
    /** Must be called when no attempt is in flight. */
    async close(): Promise<void> {
      connections.close();
    },
  };
}

function notSent(error: AttemptError): Exchange {
  return { answered: false, error, reached: false, secured: false };
}

/** Of two attempts, the failure that says more: the second one's if it came further, or alone is an alert, which has a reason. Otherwise the first one's, with the likelier hello. */
function moreTelling(first: Unanswered, second: Unanswered): Unanswered {
  if (second.again === "handshake broken") return isAlert(second.error) && !isAlert(first.error) ? second : first;
  return second.reached && (second.secured || second.error.code !== TIMED_OUT) ? second : first;
}

function verdict(
  outcome: Exchange,
  { deadlineMs, now, ownHeaders }: { deadlineMs: number; now: Date; ownHeaders: AttemptRequest["ownHeaders"] },
): Omit<AttemptResult, "startedAt" | "durationMs"> {
  if (!outcome.answered) {
    const { kind, summary } = failureOf(outcome.error, deadlineMs);
    return {
      statusCode: 503,
      succeeded: false,
      errorSummary: summary,
      failureKind: kind,
      responseExcerpt: null,
      retryAfterMs: null,
      reached: outcome.reached,
      ownFault: ownFaultOf(outcome.error),
      clockShown: clockShownBy(outcome.error),
    };
  }
  const { statusCode, body, encoded, retryAfter, date } = outcome;
  const succeeded = statusCode >= 200 && statusCode < 300;
  const waitMs = isBusy(statusCode) ? retryAfterMs(retryAfter, now) : null;
  return {
    statusCode,
    succeeded,
    errorSummary: succeeded ? null : statusSummary(statusCode, waitMs),
    failureKind: succeeded ? null : "http_status",
    // Compressed bytes are no text that an admin can read.
    responseExcerpt: encoded || isAboutOwnHeaders(statusCode, ownHeaders) ? null : responseExcerpt(body, ownHeaders),
    retryAfterMs: waitMs,
    reached: true,
    clockShown: statusCode >= 400 && statusCode < 500 ? clockShownIn(date, now) : undefined,
  };
}

/** Receivers that refuse a credential repeat it, in forms that nobody can list. */
function isAboutOwnHeaders(statusCode: number, ownHeaders: readonly string[] = []): boolean {
  return ownHeaders.length > 0 && (statusCode === 401 || statusCode === 403);
}

function statusSummary(statusCode: number, waitMs: number | null): string {
  const answer = `receiver answered ${statusCode}`;
  if (waitMs !== null) return `${answer}, asks for a wait of ${Math.ceil(waitMs / 1_000)} s`;
  return statusCode >= 300 && statusCode < 400 && statusCode !== 304 ? `${answer}, redirects are not followed` : answer;
}
