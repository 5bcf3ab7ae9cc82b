import type { ReceivedRequest } from "@herald/listen";

/** A request as `GET /requests` shows it. */
export interface LoggedRequest {
  /** Counts from 1, without gaps. */
  number: number;
  receivedAt: string;
  method: string;
  path: string;
  headers: [name: string, value: string][];
  bodyBase64: string;
  verified: boolean;
  /** Why it was not verified; null where it was. */
  reason: string | null;
  /** From the verified body. */
  event: string | null;
  eventId: string | null;
  /** Null where the connection was cut or left without an answer. */
  status: number | null;
}

export interface RequestLog {
  add(request: ReceivedRequest, status: number | null): void;
  /** The stored requests with greater numbers, oldest first. */
  after(number: number): LoggedRequest[];
  total(): number;
  clear(): void;
}

/** Keeps the latest requests, up to a number of them and of bytes of their bodies. */
export function requestLog({ capacity = 1000, capacityBytes = 32 * 1024 * 1024 } = {}): RequestLog {
  let kept: LoggedRequest[] = [];
  let keptBytes = 0;
  let total = 0;

  return {
    add({ receivedAt, method, path, headers, body, verdict }, status) {
      total++;
      const bodyBase64 = Buffer.from(body).toString("base64");
      kept.push({
        number: total,
        receivedAt: receivedAt.toISOString(),
        method,
        path,
        headers,
        bodyBase64,
        verified: verdict.ok,
        reason: verdict.ok ? null : verdict.reason,
        event: verdict.ok ? verdict.event : null,
        eventId: verdict.ok ? verdict.eventId : null,
        status,
      });
      keptBytes += bodyBase64.length;
      while (kept.length > capacity || keptBytes > capacityBytes) keptBytes -= kept.shift()?.bodyBase64.length ?? 0;
    },
    after: (number) => kept.filter((request) => request.number > number),
    total: () => total,
    clear() {
      kept = [];
      keptBytes = 0;
    },
  };
}
