import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { EventPayload, FieldChange } from "@herald/contracts";
import { type EmittedEvent, newEvent } from "@herald/emitter";
import { UsageError } from "./run-command.ts";

/** What events have where neither the command line nor their own line says otherwise. */
export type EventDefaults = Partial<Pick<EmittedEvent, "type" | "entityType" | "entityId" | "data">> &
  Pick<EmittedEvent, "organizationId">;

/** A payload of each type of event that Herald knows. */
export type Samples = ReadonlyMap<string, Pick<EventPayload, "entityType" | "data">>;

/** Fills in what an event does not say: first from the defaults, then from the sample of its type. */
export function eventFrom(given: Partial<EmittedEvent>, defaults: EventDefaults, samples: Samples): EmittedEvent {
  const type = given.type ?? defaults.type;
  if (type === undefined) throw new UsageError("The event has no type: give it one, or name the type as the argument.");
  const { entityType, data } = samples.get(type) ?? { entityType: "Entity", data: {} };
  const event = { entityType, entityId: randomUUID(), data, ...defaults, ...given, type };
  return newEvent(event, { undelivered: true });
}

/**
 * Reads events from a file of one JSON object a line; empty lines are skipped.
 *
 * @param file a path, or "-" for standard input
 * @throws UsageError that names the line which is none
 */
export async function eventsOfFile(file: string, defaults: EventDefaults, samples: Samples): Promise<EmittedEvent[]> {
  const input = file === "-" ? process.stdin : createReadStream(file);
  const events: EmittedEvent[] = [];
  let number = 0;
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      number += 1;
      if (line.trim() !== "") events.push(eventFrom(parseLine(line), defaults, samples));
    }
  } catch (error) {
    const problem = (error as Error).message;
    throw new UsageError(number === 0 ? `${file} cannot be read: ${problem}` : `${file}, line ${number}: ${problem}`);
  }
  if (events.length === 0) throw new UsageError(`${file} holds no events.`);
  return events;
}

function parseLine(line: string): Partial<EmittedEvent> {
  const value: unknown = JSON.parse(line);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("this is no JSON object");
  return value as Partial<EmittedEvent>;
}

/**
 * Reads changes as the command line has them: `Field=old:new`, split at the first colon; an empty side is null.
 *
 * @returns undefined where there are none
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
