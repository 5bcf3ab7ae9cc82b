import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { UNTIMED_BODY_REST } from "./sample-body.ts";
import type { AddedEndpoint, Traffic } from "./traffic.ts";

/** Manual deliveries that were made one after the other. */
export interface ManualDeliveries {
  /** How long each took, from the request to the answer, in milliseconds. */
  times: number[];
  /** Those that did not succeed at once. */
  failed: number;
}

/** An admin who looks at each answer delivers no faster. */
const PAUSE_MS = 50;

/** So many organizations that none of them makes more in a minute than the API lets it. */
const ORGANIZATIONS = 20;

/** Endpoints for {@link deliverManually}, each of an organization of its own. */
export async function addManualEndpoints(traffic: Traffic): Promise<AddedEndpoint[]> {
  const endpoints: AddedEndpoint[] = [];
  while (endpoints.length < ORGANIZATIONS) endpoints.push(await traffic.addEndpoint(`manual-${endpoints.length}`));
  return endpoints;
}

/** Delivers by hand for so long, one after the other, to the endpoints by turns. */
export async function deliverManually(endpoints: readonly AddedEndpoint[], seconds: number): Promise<ManualDeliveries> {
  const times: number[] = [];
  let failed = 0;
  for (const end = performance.now() + seconds * 1_000; performance.now() < end; await sleep(PAUSE_MS)) {
    const startedAt = performance.now();
    const succeeded = await deliver(endpoints[times.length % endpoints.length] as AddedEndpoint);
    times.push(performance.now() - startedAt);
    if (!succeeded) failed += 1;
  }
  return { times, failed };
}

/** Whoever is refused at once comes again after so long, and up to twice as long: not all of them in the same moment. */
const REFUSED_PAUSE_MS = 1_000;

/**
 * Keeps so many manual deliveries to an endpoint open until told to end, as far as the API lets it; resolves when none is open any more.
 */
export async function floodManually(endpoint: AddedEndpoint, atOnce: number, end: AbortSignal): Promise<void> {
  async function keepOne(_: unknown, index: number): Promise<void> {
    const pauseMs = REFUSED_PAUSE_MS * (1 + index / atOnce);
    while (!end.aborted) {
      const startedAt = performance.now();
      await deliver(endpoint);
      const leftMs = startedAt + pauseMs - performance.now();
      await sleep(Math.max(0, leftMs), undefined, { signal: end }).catch(() => undefined);
    }
  }
  await Promise.all(Array.from({ length: atOnce }, keepOne));
}

/** @returns whether it succeeded at once; a request that is refused did not */
async function deliver({ admin, id }: AddedEndpoint): Promise<boolean> {
  const body = `{"id":"${randomUUID()}${UNTIMED_BODY_REST}`;
  return await admin.deliver(id, "WorkItemCompleted", body).then(
    ({ succeeded }) => succeeded,
    () => false,
  );
}
