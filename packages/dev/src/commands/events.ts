import { randomUUID } from "node:crypto";
import type { EventPayload, FieldChange } from "@herald/contracts";
import { type EmittedEvent, newEvent } from "@herald/emitter";
import { UsageError } from "./run-command.ts";

/** A payload of each type of event that Herald knows. */
export type Samples = ReadonlyMap<string, Pick<EventPayload, "entityType" | "data">>;

/** An event of these values; what they do not say comes from the sample of its type. */
export function eventFrom(
  given: Partial<EmittedEvent> & Pick<EmittedEvent, "type" | "organizationId">,
  samples: Samples,
): EmittedEvent {
  const { entityType, data } = samples.get(given.type) ?? { entityType: "Entity", data: {} };
  return newEvent({ entityType, entityId: randomUUID(), data, ...given }, { undelivered: true });
}

/** Reads changes as the command line has them, undefined if there are none: `Field=old:new`, split at the first colon; an empty side is null. */
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
