import { type Catalogue, type EventTypeInfo, isEventType, samplePayload } from "@herald/contracts";

/** A catalogue's events in words, for the admin who chooses among them. */
export function eventTypesOf(catalogue: Catalogue): EventTypeInfo[] {
  return Object.entries(catalogue).map(([name, { entityType, emittedWhen, remark = null }]) => ({
    name,
    entityType,
    emittedWhen,
    remark,
    sample: JSON.stringify(samplePayload(name, catalogue), null, 2),
  }));
}

/** The type that documents have in their examples. */
export function exampleType(catalogue: Catalogue): string {
  return isEventType("WorkItemCompleted", catalogue) ? "WorkItemCompleted" : (Object.keys(catalogue)[0] as string);
}
