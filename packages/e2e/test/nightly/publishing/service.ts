/**
 * Part of a product service, which has its events tested. It is compiled and run as CommonJS and as an ES module, by
 * TypeScript's different ways to find a package.
 */
export const SERVICE = `
import { EVENT_TYPES } from "@herald/contracts";
import { type EmittedEvent, type Emitter, eventFor, newEvent, uuidFor } from "@herald/emitter";
import { createOutbox, outboxTable, type StatementRunner } from "@herald/emitter/outbox";
import { type EventOf, type HeraldEvent, readEvent } from "@herald/receiver";

export async function completeWorkItem(emitter: Pick<Emitter, "emit">, key: number): Promise<EmittedEvent> {
  const type = eventFor({ entity: "WorkItem", change: "status", from: "InProgress", to: "Done" });
  if (type === null || !EVENT_TYPES.includes(type)) throw new Error("It means no event.");
  const entityId = uuidFor("WorkItem", key);
  const event = newEvent({ organizationId: "org-1", type, entityType: "WorkItem", entityId });
  await emitter.emit(event);
  return event;
}

export async function completeInTransaction(client: StatementRunner, event: EmittedEvent): Promise<void> {
  await client.query(outboxTable());
  await createOutbox().add(client, event);
}

/** Handles every type of event: its type says which one it is. */
export function actOn(payload: unknown): string | null {
  const event: HeraldEvent | null = readEvent(payload);
  if (event === null) return null;
  switch (event.type) {
    case "WorkItemCompleted": {
      const completed: EventOf<"WorkItemCompleted"> = event;
      // @ts-expect-error it is no other type of event
      const approved: EventOf<"TimesheetApproved"> = event;
      return completed.data.changes?.Status?.newValue ?? approved.id;
    }
    case "ProjectCreated":
    case "ProjectUpdated":
    case "ResourceAllocated":
    case "TimesheetApproved":
    case "RiskCreated":
    case "ChangeRequestApproved": {
      // @ts-expect-error the other one is not left
      const completed: EventOf<"WorkItemCompleted"> = event;
      return completed.entityId;
    }
    default: {
      // There is no type more.
      const none: never = event;
      return none;
    }
  }
}

// The types are found, and are no "any".
// @ts-expect-error an event has an organization
newEvent({ type: "RiskCreated", entityType: "Risk", entityId: uuidFor("Risk", 1) });
// @ts-expect-error a change has two values
newEvent({ organizationId: "a", type: "b", entityType: "c", entityId: "d", data: { changes: { Status: { oldValue: 1 } } } });
`;

/** Its test, for jest. */
export const SERVICE_TEST = `
import { expect, test } from "@jest/globals";
import { sign, verify } from "@herald/receiver";
import { actOn, completeInTransaction, completeWorkItem } from "./service.js";

test("completing a work item emits", async () => {
  const emitted: unknown[] = [];
  const event = await completeWorkItem({ emit: async (each) => void emitted.push(each) }, 4711);
  expect(emitted).toEqual([event]);
  expect(event.entityId).toBe("00c4e2f3-32d0-593b-8409-5943b2180df6");
});

test("the outbox fills one row", async () => {
  const statements: string[] = [];
  const query = async (text: string) => ({ rows: [statements.push(text)] });
  await completeInTransaction({ query }, await completeWorkItem({ emit: async () => {} }, 1));
  expect(statements).toEqual([expect.stringMatching(/^create table/), expect.stringMatching(/^insert into/)]);
});

test("the receiver's package is found as well", () => {
  expect([typeof sign, typeof verify]).toEqual(["function", "function"]);
  expect(actOn({ type: "Another" })).toBeNull();
});
`;

/** Says for each entry of the packages whether \`require\` and \`import\` give the very same, and by which names. */
export const SAME = `
const names = process.argv.slice(2);
(async () => {
  const same = {};
  for (const name of names) same[name] = require(name) === (await import(name));
  console.log(JSON.stringify(same));
})();
`;
