import { setTimeout as sleep } from "node:timers/promises";
import { answerParent } from "@herald/e2e/child";
import { createEmitter, type Emitter, newEvent } from "@herald/emitter";
import { busyPercent, sharedNow } from "./busy.ts";

export type EmitterRequest =
  /** `timed` events carry the time of their emission, from which the receiver tells how long they were on their way. */
  | { type: "connect"; url: string; namespace: string; organizationIds: readonly string[]; timed: boolean }
  /** Emits `count` events, each with a text of `textBytes`, as fast as it can, over the organizations by turns; answers when all are confirmed. */
  | { type: "emit"; count: number; textBytes: number }
  /** Emits at an even rate, however long confirms take; answers with how many, when all are confirmed. */
  | { type: "emitEvenly"; perSecond: number; seconds: number }
  | { type: "busy" };

let emitter: Emitter | undefined;
let organizationIds: readonly string[] = [];
let timed = true;
let next = 0;

answerParent<EmitterRequest>(async (request) => {
  switch (request.type) {
    case "connect":
      emitter = createEmitter({ url: request.url, namespace: request.namespace });
      ({ organizationIds, timed } = request);
      return;
    case "emit":
      await Promise.all(Array.from({ length: request.count }, () => emitOne(sharedNow(), request.textBytes)));
      return;
    case "emitEvenly":
      return await emitEvenly(request);
    case "busy":
      return busyPercent();
  }
});

async function emitEvenly({ perSecond, seconds }: { perSecond: number; seconds: number }): Promise<number> {
  const begun = sharedNow();
  const count = Math.round(perSecond * seconds);
  const confirms: (Promise<void> | undefined)[] = [];
  for (let index = 0; index < count; index++) {
    const at = begun + (index * 1_000) / perSecond;
    const early = at - sharedNow();
    if (early > 0) await sleep(early);
    // By the plan, not by when it came to it: an emitter that is late must not make Herald look fast.
    confirms.push(emitOne(at));
  }
  await Promise.all(confirms);
  return count;
}

function emitOne(at: number, textBytes = 0): Promise<void> | undefined {
  next += 1;
  return emitter?.emit(
    newEvent({
      organizationId: organizationIds[next % organizationIds.length] ?? "",
      type: "WorkItemCompleted",
      entityType: "WorkItem",
      entityId: "0190a1b2-0000-7000-8000-0000000000aa",
      data: {
        changes: {
          Status: { oldValue: "InProgress", newValue: "Done" },
          ...(timed && { Emitted: { oldValue: null, newValue: at.toFixed(3) } }),
        },
        ...(textBytes > 0 && { text: "x".repeat(textBytes) }),
      },
    }),
  );
}
