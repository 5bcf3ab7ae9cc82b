import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { ENTITY_TYPE_OF, type EventType, type FieldChange, isEventType } from "@herald/contracts";
import { type EmittedEvent, type NewEvent, newEvent } from "@herald/emitter";
import { UsageError } from "./run-command.ts";

/** What events have where neither the command line nor their own line says otherwise. */
export type EventDefaults = Partial<Pick<NewEvent, "type" | "entityType" | "entityId" | "data">> &
  Pick<NewEvent, "organizationId">;

/** A change that brings an event about (SPEC 6). */
const TYPICAL_CHANGES: Partial<Record<EventType, Record<string, FieldChange>>> = {
  WorkItemCompleted: { Status: { oldValue: "InProgress", newValue: "Done" } },
  TimesheetApproved: { Status: { oldValue: "Submitted", newValue: "Approved" } },
  ChangeRequestApproved: { Status: { oldValue: "UnderReview", newValue: "Approved" } },
};

/** Fills in what an event does not say: first from the defaults, then with what is typical for its type. */
export function eventFrom(given: Partial<EmittedEvent>, defaults: EventDefaults): EmittedEvent {
  const type = given.type ?? defaults.type;
  if (type === undefined) throw new UsageError("The event has no type: give it one, or name the type as the argument.");
  const known = isEventType(type) ? type : undefined;
  return newEvent({
    entityType: known ? ENTITY_TYPE_OF[known] : "Entity",
    entityId: randomUUID(),
    data: { changes: (known && TYPICAL_CHANGES[known]) ?? {} },
    ...defaults,
    ...given,
    type,
  });
}

/**
 * Reads events from a file of one JSON object a line; empty lines are skipped.
 *
 * @param file a path, or "-" for standard input
 * @throws UsageError that names the line which is none
 */
export async function eventsOfFile(file: string, defaults: EventDefaults): Promise<EmittedEvent[]> {
  const input = file === "-" ? process.stdin : createReadStream(file);
  const events: EmittedEvent[] = [];
  let number = 0;
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      number += 1;
      if (line.trim() !== "") events.push(eventFrom(parseLine(line), defaults));
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
