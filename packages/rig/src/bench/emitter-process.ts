import { createEmitter, type Emitter, newEvent } from "@herald/emitter";
import { answerParent } from "./child.ts";

export type EmitterRequest =
  | { type: "connect"; url: string; namespace: string; organizationIds: string[] }
  /** Emits so many events as fast as it can, over the organizations by turns, and answers when all are confirmed. */
  | { type: "emit"; count: number };

let emitter: Emitter | undefined;
let organizationIds: string[] = [];
let next = 0;

answerParent<EmitterRequest>(async (request) => {
  if (request.type === "connect") {
    emitter = createEmitter({ url: request.url, namespace: request.namespace });
    organizationIds = request.organizationIds;
    return;
  }
  await Promise.all(Array.from({ length: request.count }, emitOne));
});

function emitOne(): Promise<void> | undefined {
  next += 1;
  return emitter?.emit(
    newEvent({
      organizationId: organizationIds[next % organizationIds.length] ?? "",
      type: "WorkItemCompleted",
      entityType: "WorkItem",
      entityId: "0190a1b2-0000-7000-8000-0000000000aa",
      data: {
        changes: { Status: { oldValue: "InProgress", newValue: "Done" }, Estimate: { oldValue: "8", newValue: "13" } },
      },
    }),
  );
}
