import { isOrganizationId, isUuid, type UndeliveredCause } from "@herald/contracts";
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
  let hour = -1;
  let kept = new Map<string | null, number>();
  let keptOfAll = 0;
  let kinds = new Set<string>();

  return {
    mayKeep({ organizationId }: Rejection, now: Date): boolean {
      const current = Math.floor(now.getTime() / HOUR_MS);
      if (current !== hour) {
        hour = current;
        kept = new Map();
        keptOfAll = 0;
        kinds = new Set();
      }
      return keptOfAll < KEPT_OF_ALL && (kept.get(organizationId) ?? 0) < KEPT_OF_ORGANIZATION;
    },
    /** @returns whether it is the hour's first one of its organization, type and cause */
    keep({ organizationId, eventType, cause }: Rejection): boolean {
      kept.set(organizationId, (kept.get(organizationId) ?? 0) + 1);
      keptOfAll += 1;
      const known = kinds.size;
      return kinds.add(JSON.stringify([organizationId, eventType, cause])).size > known;
    },
  };
}
