import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createEmitter, type EmittedEvent, type Emitter } from "@herald/emitter";
import { answerParent } from "../../child.ts";
import { planEvent } from "../plan/events.ts";
import type { Tenant } from "../plan/tenants.ts";
import type { EmittedRecord } from "../verdict/history.ts";

export type EmitterRequest =
  | { type: "connect"; url: string; namespace: string; seed: number; tenants: Tenant[] }
  /** Begins to emit events at this rate. */
  | { type: "begin"; perSecond: number }
  /** Emits `count` events at once of the first organization, each with a further text of `textBytes`. */
  | { type: "burst"; count: number; textBytes: number }
  /** Emits no more, and answers when every event is confirmed, or after the time. */
  | { type: "finish"; withinMs: number }
  /** Emits every event once more, and answers when all are confirmed, or after the time. */
  | { type: "again"; withinMs: number };

const TICK_MS = 20;

let emitter: Emitter | undefined;
let plan: Extract<EmitterRequest, { type: "connect" }>;
const records: EmittedRecord[] = [];
const events: EmittedEvent[] = [];
const emitting = new Set<Promise<void>>();
let finishing = false;
let gaveUp = false;

answerParent<EmitterRequest>(async (request) => {
  if (request.type === "connect") {
    plan = request;
    emitter = createEmitter({ url: request.url, namespace: request.namespace });
    return undefined;
  }
  if (request.type === "begin") {
    void emitSteadily(request.perSecond);
    return undefined;
  }
  if (request.type === "burst") {
    const [tenant] = plan.tenants;
    for (let times = request.count; tenant && times > 0; times--) emitNext([tenant], request.textBytes);
    return undefined;
  }
  finishing = true;
  gaveUp = false;
  if (request.type === "again")
    for (const [index, event] of events.entries()) emit(event, records[index] as EmittedRecord);
  await Promise.race([Promise.all(emitting), sleep(request.withinMs)]);
  gaveUp = true;
  return request.type === "finish" ? records : undefined;
});

/** Holds the rate over the whole time: what a slow moment left out comes with the next. */
async function emitSteadily(perSecond: number): Promise<void> {
  const begun = performance.now();
  let emitted = 0;
  while (!finishing) {
    const due = Math.floor(((performance.now() - begun) / 1_000) * perSecond);
    for (; emitted < due; emitted++) emitNext(plan.tenants);
    await sleep(TICK_MS);
  }
}

function emitNext(tenants: readonly Tenant[], textBytes = 0): void {
  const { event, againAfterMs } = planEvent(plan.seed, records.length, tenants, new Date());
  if (textBytes > 0) event.data = { ...event.data, text: "x".repeat(textBytes) };
  const record: EmittedRecord = {
    id: event.id,
    organizationId: event.organizationId,
    type: event.type,
    bodyHash: createHash("sha256").update(bodyOf(event)).digest("base64"),
    confirmed: false,
  };
  records.push(record);
  events.push(event);
  emit(event, record);
  if (againAfterMs !== undefined) emit(event, record, againAfterMs);
}

function emit(event: EmittedEvent, record: EmittedRecord, afterMs = 0): void {
  const done = sleep(afterMs)
    .then(() => untilConfirmed(event, record))
    .finally(() => emitting.delete(done));
  emitting.add(done);
}

/** As a product service with an outbox does it: again with the same id, until the broker has it. */
async function untilConfirmed(event: EmittedEvent, record: EmittedRecord): Promise<void> {
  while (!gaveUp) {
    try {
      await emitter?.emit(event);
      record.confirmed = true;
      return;
    } catch {
      await sleep(100);
    }
  }
}

/** The body that receivers get by SPEC 2.4: these fields, in this order, nothing else. */
function bodyOf({ id, type, occurredAtUtc, entityType, entityId, data }: EmittedEvent): string {
  return JSON.stringify({ id, type, occurredAtUtc, entityType, entityId, data });
}
