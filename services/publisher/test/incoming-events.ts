import { randomUUID } from "node:crypto";
import { eventKey } from "@herald/common/database/ids";
import { ROW_TIME } from "@herald/dev/harness/rows";
import type { IncomingEvent } from "../src/ingest/read-event.ts";

/** A minute after the rows of the tests were made. */
export const NOW = new Date(ROW_TIME.getTime() + 60_000);

/** An event of an organization as it was read from the broker: a WorkItemCompleted of {@link NOW}, unless said otherwise. */
export function incomingEvent(
  organizationId: string,
  override: Partial<Omit<IncomingEvent, "key">> = {},
): IncomingEvent {
  const id = override.id ?? randomUUID();
  const occurredAt = override.occurredAt ?? NOW;
  return {
    organizationId,
    type: "WorkItemCompleted",
    entityId: randomUUID(),
    body: JSON.stringify({ id }),
    traceparent: null,
    receivedAt: NOW,
    ...override,
    id,
    occurredAt,
    key: eventKey(organizationId, id, occurredAt),
  };
}
