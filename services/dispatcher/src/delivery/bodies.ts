import { isDataError } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import { batcher } from "@herald/common/runtime/batcher";
import type { Clock } from "@herald/common/runtime/clock";
import { retry } from "@herald/common/runtime/retry";
import type { Log } from "@herald/common/telemetry/log";
import { createQuotas } from "../lanes/quotas.ts";
import type { ClaimedDelivery, ReadyDelivery } from "../sql/claimed-delivery.ts";
import { type BodySource, readBodies } from "../sql/read-bodies.ts";
import type { Deliver, DeliverReady } from "./deliver.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  log: Log;
  /** Ends the waiting for PostgreSQL. */
  signal: AbortSignal;
  /** Undoes the claim of a delivery that waited too long. */
  unclaim: (delivery: ClaimedDelivery, delayMs: number) => Promise<void>;
}

export interface BodiesOptions {
  /** Bytes of large bodies that are in memory at once. */
  budgetBytes: number;
  /** What an attempt may take. */
  deadlineMs: number;
}

/**
 * Large bodies, which claims leave in PostgreSQL. A body is read when its turn to be sent comes, within a budget of bytes that
 * organizations share (quotas.ts), and once for an event that goes to many endpoints. Its bytes count until the last of them is settled.
 * Small bodies come with the claim, and are bounded by the number of attempts.
 */
export interface Bodies {
  /** Has the body there while `deliver` runs. */
  held(deliver: DeliverReady): Deliver;
  /** Whether deliveries of this organization wait for bytes, so that it need not claim more. */
  areAwaitedBy(organizationId: string): boolean;
  /** Bytes in memory, or being read. */
  bytes(): number;
  /** Gives back the deliveries that still wait. */
  close(): void;
}

/** A body that is in memory, or being read. */
interface Content {
  organizationId: string;
  bytes: number;
  uses: number;
  /** Undefined where it is gone. */
  body: Promise<Buffer | undefined>;
}

/** A body whose turn has not come. A taker gets nothing where its delivery is given back. */
interface Wanted {
  source: BodySource;
  bytes: number;
  takers: Set<(content: Content | undefined) => void>;
}

/** Bodies that one statement reads. As text they take memory beyond the budget, for a moment. */
const BATCH = { maxItems: 16, maxRunning: 2 };

export function createBodies({ queries, clock, log, signal, unclaim }: Parts, options: BodiesOptions): Bodies {
  const { budgetBytes, deadlineMs } = options;
  const quotas = createQuotas({ total: budgetBytes });
  const inUse = new Map<string, Content>();
  /** By organization, and then by key. The first organization has waited longest for its turn. */
  const waiting = new Map<string, Map<string, Wanted>>();
  let closed = false;

  const read = batcher<BodySource, Buffer | undefined>(async (sources) => {
    const bodies = await retry(() => readBodies(queries, sources), {
      shouldRetry: (error) => !isDataError(error),
      onFirstFailure: (error) => log.error("bodies can't be read; they wait for PostgreSQL", { error }),
      signal,
    });
    return bodies.map((body) => (body === null ? undefined : Buffer.from(body)));
  }, BATCH);

  function acquire(delivery: ClaimedDelivery): Promise<Content | undefined> | Content {
    const { organizationId, eventKey, deliveryId, bodyBytes: bytes } = delivery;
    const key = eventKey ?? deliveryId;
    const content = inUse.get(key);
    if (content) {
      content.uses++;
      return content;
    }
    return new Promise((resolve) => {
      const wanted = wantedOf(key, { source: { organizationId, eventKey, deliveryId }, bytes, takers: new Set() });
      const leftMs = delivery.leasedUntil.getTime() - deadlineMs - clock.now().getTime();
      const taker = (given: Content | undefined) => {
        clearTimeout(tooLate);
        resolve(given);
      };
      // Its lease is then too short for an attempt. Another process would claim it, and take it for interrupted.
      const tooLate = setTimeout(() => {
        wanted.takers.delete(taker);
        if (wanted.takers.size === 0) forget(organizationId, key);
        taker(undefined);
        giveTurns();
      }, leftMs);
      wanted.takers.add(taker);
      giveTurns();
    });
  }

  function wantedOf(key: string, wanted: Wanted): Wanted {
    const { organizationId } = wanted.source;
    const ofOrganization = waiting.get(organizationId) ?? new Map<string, Wanted>();
    waiting.set(organizationId, ofOrganization);
    const known = ofOrganization.get(key) ?? wanted;
    ofOrganization.set(key, known);
    return known;
  }

  function forget(organizationId: string, key: string): void {
    const ofOrganization = waiting.get(organizationId);
    ofOrganization?.delete(key);
    if (ofOrganization?.size === 0) waiting.delete(organizationId);
  }

  /** Whether it is this organization's turn for so many bytes. One body always fits, or else a large one would never be sent. */
  function fits(organizationId: string, bytes: number): boolean {
    if (quotas.heldBy(organizationId) === 0) return bytes <= quotas.free() || quotas.free() === budgetBytes;
    return bytes <= quotas.roomOf(organizationId, waiting.size > 1);
  }

  function giveTurns(): void {
    for (let given = true; given; ) {
      given = false;
      for (const [organizationId, ofOrganization] of [...waiting]) {
        const [key, wanted] = ofOrganization.entries().next().value as [string, Wanted];
        if (!fits(organizationId, wanted.bytes)) continue;
        given = true;
        ofOrganization.delete(key);
        waiting.delete(organizationId);
        if (ofOrganization.size > 0) waiting.set(organizationId, ofOrganization);
        begin(key, wanted);
      }
    }
  }

  function begin(key: string, { source, bytes, takers }: Wanted): void {
    const { organizationId } = source;
    quotas.take(organizationId, bytes);
    const content: Content = { organizationId, bytes, uses: takers.size, body: read(source) };
    // Each taker learns of a failure; none may be there any more.
    content.body.catch(() => {});
    inUse.set(key, content);
    for (const taker of takers) taker(content);
  }

  function release(key: string, content: Content): void {
    content.uses--;
    if (content.uses > 0) return;
    inUse.delete(key);
    quotas.release(content.organizationId, content.bytes);
    giveTurns();
  }

  async function deliverLarge(delivery: ClaimedDelivery, deliver: DeliverReady, onEnd?: () => void): Promise<void> {
    const content = closed ? undefined : await acquire(delivery);
    if (!content) return await unclaim(delivery, 0);
    try {
      const body = await content.body;
      if (body === undefined) throw new Error("It is not stored any more.");
      await deliver({ ...delivery, body }, onEnd);
    } finally {
      release(delivery.eventKey ?? delivery.deliveryId, content);
    }
  }

  return {
    held: (deliver) => async (delivery, onEnd) => {
      if (hasBody(delivery)) return await deliver(delivery, onEnd);
      try {
        await deliverLarge(delivery, deliver, onEnd);
      } catch (error) {
        const { deliveryId, endpointId } = delivery;
        log.error("a body can't be read; its delivery comes due again when the lease ends", {
          deliveryId,
          endpointId,
          error,
        });
      }
    },
    areAwaitedBy: (organizationId) => waiting.has(organizationId),
    bytes: () => budgetBytes - quotas.free(),
    close() {
      closed = true;
      const takers = [...waiting.values()]
        .flatMap((wanted) => [...wanted.values()])
        .flatMap(({ takers }) => [...takers]);
      waiting.clear();
      for (const taker of takers) taker(undefined);
    },
  };
}

function hasBody(delivery: ClaimedDelivery): delivery is ReadyDelivery {
  return delivery.body !== null;
}
