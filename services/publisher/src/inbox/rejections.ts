import { isDataError } from "@herald/common/database/errors";
import { batcher } from "@herald/common/runtime/batcher";
import { Counts } from "@herald/common/runtime/counts";
import { isOrganizationId, isUuid, type UndeliveredCause } from "@herald/contracts";
import type { Basics } from "../basics.ts";
import { insertRejections, insertUndelivered } from "../sql/insert-undelivered.ts";
import type { Rejection } from "../sql/rows.ts";

const MAX_REASON = 300;
const MAX_TYPE = 128;

/** Reads the fields of a message that is not taken, whatever its bytes. Pure; never throws. */
export function rejectionOf(content: Uint8Array, cause: UndeliveredCause, reason: string): Rejection {
  const { organizationId, id, type } = fieldsOf(content);
  return {
    cause,
    organizationId: isOrganizationId(organizationId) ? organizationId : null,
    eventId: isUuid(id) ? id.toLowerCase() : null,
    eventType: isType(type) ? shown(type) : null,
    reason: shown(reason),
  };
}

function fieldsOf(content: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(content).toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Whether a value can be the name of a type, whether a catalogue has it or not. */
function isType(type: unknown): type is string {
  return typeof type === "string" && type !== "" && [...type].length <= MAX_TYPE;
}

/** Removes characters that PostgreSQL can't store, or that steer a terminal or deceive its reader: a reason quotes the emitter's text. */
export function harmless(reason: string): string {
  return Buffer.from(reason.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ")).toString();
}

function shown(reason: string): string {
  const clean = harmless(reason);
  return clean.length <= MAX_REASON ? clean : `${Buffer.from(clean.slice(0, MAX_REASON)).toString()}...`;
}

const HOUR_MS = 3_600_000;

/** Events that are not taken, and that a publisher writes down in an hour: of one organization, and of all. */
export const KEPT_OF_ORGANIZATION = 200;
export const KEPT_OF_ALL = 10_000;

/**
 * Bounds what a publisher writes in an hour. An emitter that misspells a type does so in all its events, some emitters send everything and leave the
 * choice to Herald, and a message that breaks the contract may name any organization.
 */
export function hourly() {
  const begin = (hour: number) => ({
    hour,
    ofAll: 0,
    byOrganization: new Counts<string | null>(),
    kinds: new Set<string>(),
  });
  let kept = begin(-1);

  return {
    mayKeep({ organizationId }: Rejection, now: Date): boolean {
      const hour = Math.floor(now.getTime() / HOUR_MS);
      if (hour !== kept.hour) kept = begin(hour);
      return kept.ofAll < KEPT_OF_ALL && kept.byOrganization.of(organizationId) < KEPT_OF_ORGANIZATION;
    },
    /** @returns whether it is the hour's first one of its organization, type and cause */
    keep({ organizationId, eventType, cause }: Rejection): boolean {
      kept.byOrganization.add(organizationId);
      kept.ofAll++;
      const known = kept.kinds.size;
      return kept.kinds.add(JSON.stringify([organizationId, eventType, cause])).size > known;
    },
  };
}

const BATCHES = { maxItems: 500, maxRunning: 1, gather: { items: 500, forMs: 200 } };

/**
 * Records that an event is not taken: writes a row for searches, and leaves a notice in the outbox if it is the hour's first of its organization,
 * type and cause. It resolves when PostgreSQL has both, and the event is acknowledged after that: after a crash in between, the event comes
 * again and may have a second notice. Events beyond the hour's bounds cost nothing. It rejects if PostgreSQL can't be used now.
 */
export function createReportUndelivered({ queries, clock, metrics, log }: Basics): (event: Rejection) => Promise<void> {
  let hour = hourly();

  const store = batcher<Rejection, void>(async (events) => {
    const now = clock.now();
    const kept: Rejection[] = [];
    const firsts: Rejection[] = [];
    for (const event of events) {
      if (!hour.mayKeep(event, now)) continue;
      kept.push(event);
      if (hour.keep(event)) firsts.push(event);
    }
    // A search finds an event by organization and id.
    const found = kept.filter(({ organizationId, eventId }) => organizationId !== null && eventId !== null);
    try {
      if (firsts.length > 0) await insertRejections(queries, firsts, now);
      if (found.length > 0) await insertUndelivered(queries, found, now);
    } catch (error) {
      if (!isDataError(error)) {
        // All of them come again. A row that was written has no second one, and a second notice does no harm.
        hour = hourly();
        throw error;
      }
      // The inbox must not stop because a row can't be written.
      log.error("rows of undelivered events can't be stored, and are left out", { error });
    }
    for (const first of firsts) log.warn("events are not delivered; the search and a notice say so too", { ...first });
    metrics.unkept.inc(events.length - found.length);
    return events.map(() => undefined);
  }, BATCHES);

  return async (event) => {
    if (hour.mayKeep(event, clock.now())) return await store(event);
    metrics.unkept.inc();
  };
}
