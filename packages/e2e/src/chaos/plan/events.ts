import { EVENT_TYPES } from "@herald/contracts";
import type { EmittedEvent } from "@herald/emitter";
import { draw, drawBetween, drawOne, drawUuid, drawWeighted } from "./draw.ts";
import type { Tenant } from "./tenants.ts";

/** Text that does not survive being read and written again by the careless. */
const TEXTS = [
  "Done",
  "1.0",
  "naïve café",
  '"quoted" \\ back',
  "line\nbreak\ttab",
  "日本語 🚀",
  "</script>",
  "  blanks  ",
];

/** The nth event of a run; only the time at which it occurs is not of the plan. */
export function planEvent(seed: number, index: number, tenants: readonly Tenant[], occurredAt: Date) {
  const weights = Object.fromEntries(tenants.map(({ organizationId, weight }) => [organizationId, weight]));
  const organizationId = drawWeighted(weights, seed, "organization", index);
  const { twoRelays } = tenants.find((tenant) => tenant.organizationId === organizationId) as Tenant;
  // A type in fifty is none that Herald delivers: it must be ignored and block nothing.
  const isForeign = draw(seed, "foreign", index) < 0.02;
  const event: EmittedEvent = {
    organizationId,
    id: drawUuid(seed, "event", index),
    type: isForeign ? "WorkItemRenamed" : drawOne(EVENT_TYPES, seed, "type", index),
    occurredAtUtc: occurredAt.toISOString(),
    entityType: "WorkItem",
    entityId: drawUuid(seed, "entity", index),
    data: {
      changes: {
        Status: { oldValue: drawOne(TEXTS, seed, "old", index), newValue: drawOne(TEXTS, seed, "new", index) },
        Number: { oldValue: null, newValue: String(index) },
      },
    },
  };
  // Some are emitted once more with the same id, as by a product service that missed the confirm.
  const isTwice = twoRelays || draw(seed, "twice", index) < 0.03;
  return { event, againAfterMs: isTwice ? drawBetween(0, 80, seed, "again", index) : undefined };
}
