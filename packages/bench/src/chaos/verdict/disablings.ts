import type { History } from "./history.ts";

/** Requests that came to an endpoint while it was disabled. */
export function requestsWhileDisabled({ requests, disablings, settings }: History) {
  const afterDisabling: string[] = [];
  let underWayWhenDisabled = 0;
  let latestAfterDisablingMs = 0;
  for (const { endpointId, from, until } of disablings) {
    for (const request of requests) {
      if (request.endpointId !== endpointId || request.at <= from || request.at >= until) continue;
      const lateMs = request.at - from;
      underWayWhenDisabled++;
      latestAfterDisablingMs = Math.max(latestAfterDisablingMs, lateMs);
      if (lateMs > settings.leaseMs) {
        afterDisabling.push(`delivery ${request.deliveryId} came ${lateMs} ms after ${endpointId} was disabled`);
      }
    }
  }
  return { afterDisabling, underWayWhenDisabled, latestAfterDisablingMs };
}

/** Endpoints that were disabled by too little, or without the product being told. */
export function wronglyDisabledOf({ notices, disablings, endpoints, settings }: History): string[] {
  const found: string[] = [];
  const disabled = [...new Map(notices.map((notice) => [notice.id, notice])).values()].filter(
    ({ type }) => type === "endpoint.disabled",
  );
  for (const { endpointId, attempts } of disabled) {
    const different = new Set(attempts).size;
    if (different < settings.disableAfter) found.push(`${endpointId} was disabled by ${different} failed attempts`);
  }
  for (const { id, character } of endpoints) {
    const known = disablings.filter(({ by, endpointId }) => by === "herald" && endpointId === id).length;
    const told = disabled.filter(({ endpointId }) => endpointId === id).length;
    if (told < known)
      found.push(`${character} ${id} was disabled ${known} times, and the product was told ${told} times`);
  }
  return found;
}
