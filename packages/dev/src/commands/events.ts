import { randomUUID } from "node:crypto";
import type { EventPayload, FieldChange } from "@herald/contracts";
import { type EmittedEvent, newEvent } from "@herald/emitter";
import { UsageError } from "./run-command.ts";

/** The values of an event from the command line. */
export type EventValues = Partial<Pick<EmittedEvent, "type" | "entityType" | "entityId" | "data">> &
  Pick<EmittedEvent, "organizationId">;

/** A payload of each type of event that Herald knows. */
export type Samples = ReadonlyMap<string, Pick<EventPayload, "entityType" | "data">>;

/** An event of these values; what they do not say comes from the sample of its type. */
export function eventFrom({ type, ...given }: EventValues, samples: Samples): EmittedEvent {
  if (type === undefined) throw new UsageError("The event has no type: name it as the argument.");
  const { entityType, data } = samples.get(type) ?? { entityType: "Entity", data: {} };
  return newEvent({ entityType, entityId: randomUUID(), data, ...given, type }, { undelivered: true });
}

/**
 * Reads changes as the command line has them: `Field=old:new`, split at the first colon; an empty side is null.
 *
 * @returns undefined if there are none
 */
export function changesOf(texts: string[]): Record<string, FieldChange> | undefined {
  if (texts.length === 0) return undefined;
  return Object.fromEntries(
    texts.map((text) => {
      const parts = /^([^=]+)=([^:]*):(.*)$/s.exec(text);
      if (parts === null) throw new UsageError(`--change takes Field=old:new; "${text}" is none.`);
      const [, field, oldValue, newValue] = parts as unknown as [string, string, string, string];
      return [field, { oldValue: oldValue || null, newValue: newValue || null }];
    }),
  );
}
