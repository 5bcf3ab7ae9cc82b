import type { ChangedSettings, EndpointChange } from "@herald/contracts";
import { counted } from "../../common/formats.ts";

const WHAT = {
  created: "Created",
  edited: "Edited",
  paused: "Paused",
  resumed: "Resumed",
  disabled: "Disabled automatically after failures",
  deleted: "Deleted",
  delivered: "Payload sent",
  resent: "Sent again",
} as const;

export function changeTitle({ kind, before, after, secretReplaced, resent, delivered }: EndpointChange): string {
  if (resent !== null) return `${WHAT.resent}: ${counted(resent, "delivery", "deliveries")}`;
  if (delivered !== null) return `${WHAT.delivered} as ${delivered.eventType}`;
  const touchesSettings = Object.keys({ ...before, ...after }).length > 0;
  if (kind === "edited" && secretReplaced && !touchesSettings) return "Signing secret replaced";
  return WHAT[kind];
}

/** A new webhook in a line; null for other changes. All of its settings are on its own page. */
export function creationWords({ kind, after }: EndpointChange): string | null {
  if (kind !== "created" || after === null) return null;
  const { url, events = [], enabled, headerNames = [] } = after;
  return [
    url,
    counted(events.length, "event", "events"),
    ...(headerNames.length > 0 ? [`own headers ${headerNames.join(", ")}`] : []),
    ...(enabled === false ? ["not active"] : []),
  ].join(", ");
}

/** The author of a change: a name, or the subject of a token without a name. Null if Herald did it by itself. */
export function changeAuthor({ changedBy, name, subject }: EndpointChange): string | null {
  if (changedBy === "herald") return null;
  if (changedBy === "operator") return "the operator of the service";
  return name ?? subject ?? "an admin";
}

export interface ChangedField {
  name: string;
  before: string | null;
  after: string;
}

/** The settings that a change touched, one by one. That it is active or not is in the title already, and so is all of a creation. */
export function changedFields({ kind, before, after, secretReplaced }: EndpointChange): ChangedField[] {
  const fields: ChangedField[] = [];
  if (kind === "created") return fields;
  const add = (name: string, wordsOf: (settings: ChangedSettings) => string | undefined): void => {
    const now = after === null ? undefined : wordsOf(after);
    if (now !== undefined) fields.push({ name, before: (before && wordsOf(before)) ?? null, after: now });
  };
  add("Name", ({ name }) => name);
  add("Endpoint URL", ({ url }) => url);
  if (before?.events && after?.events) fields.push(...changedEvents(before.events, after.events));
  else add("Events", ({ events }) => events?.join(", "));
  const namesOf = (settings: ChangedSettings | null) => settings?.headerNames?.join(", ") ?? null;
  const [namesBefore, namesAfter] = [namesOf(before), namesOf(after)];
  if (after !== null && namesBefore !== namesAfter) {
    fields.push({ name: "Own headers", before: namesBefore, after: namesAfter ?? "None" });
  }
  add("Header values", ({ headerValues }) => headerValues && `New: ${headerValues.join(", ")}`);
  if (secretReplaced) fields.push({ name: "Signing secret", before: null, after: "Replaced" });
  return fields;
}

/** Often one or two of many events change, so name these and not both lists. */
function changedEvents(before: readonly string[], after: readonly string[]): ChangedField[] {
  const added = after.filter((event) => !before.includes(event));
  const removed = before.filter((event) => !after.includes(event));
  return [
    { name: "Events added", before: null, after: added.join(", ") },
    { name: "Events removed", before: null, after: removed.join(", ") },
  ].filter((field) => field.after !== "");
}
