import type { EndpointChange } from "@herald/contracts";

/** An own header. The value of a stored one is never known: if none is typed, the stored one is kept. */
export interface HeaderRow {
  name: string;
  value: string;
}

/** What was saved since the version that an edit began from, and can't be seen in the settings. @param changes newest first */
export function unseenSince(changes: readonly EndpointChange[], version: string) {
  const end = changes.findIndex((change) => change.version === version);
  const since = changes.slice(0, end < 0 ? changes.length : end);
  return {
    headerValues: since.flatMap(({ after }) => after?.headerValues ?? []),
    secretReplaced: since.some(({ secretReplaced }) => secretReplaced),
  };
}

export interface Draft {
  name: string;
  url: string;
  events: readonly string[];
  enabled: boolean;
  headers: readonly HeaderRow[];
}

export const FIELDS = ["name", "url", "events", "headers", "enabled"] as const satisfies readonly (keyof Draft)[];
export type DraftField = (typeof FIELDS)[number];

export const fieldNames: Record<DraftField, string> = {
  name: "Name",
  url: "Endpoint URL",
  events: "Event selection",
  headers: "Own headers",
  enabled: "Active",
};

/** A draft's headers. Rows without a text are left out. */
const headersOf = ({ headers }: Draft) => headers.filter(({ name, value }) => name || value);
export const headerNames = (draft: Draft): string[] => headersOf(draft).map(({ name }) => name);

/** A name that two headers have: the API's object of headers can't say that. */
export const repeatedHeader = (draft: Draft): string | undefined =>
  headerNames(draft).find((name, at, names) => names.indexOf(name) !== at);

/** A draft as the API takes it. Headers are left out if all stay as they are. */
export function settingsOf(draft: Draft, base: Draft) {
  const { headers: _headers, ...settings } = draft;
  if (sameField(draft, base, "headers")) return settings;
  const stored = headerNames(base);
  const isKept = ({ name, value }: HeaderRow) => value === "" && stored.includes(name);
  const values = headersOf(draft).map((row) => [row.name, isKept(row) ? null : row.value] as const);
  return { ...settings, headers: Object.fromEntries(values) };
}

/** A field's value in words, to compare and to show. No value of a header is in it. @param replaced names of headers with a new value */
export function valueInWords(draft: Draft, field: DraftField, replaced: readonly string[] = []): string {
  if (field === "enabled") return draft.enabled ? "on" : "off";
  if (field === "headers") {
    return (
      headersOf(draft)
        .map(({ name, value }) => (value || replaced.includes(name) ? `${name} (new value)` : name))
        .sort()
        .join(", ") || "none"
    );
  }
  return field === "events" ? [...draft.events].sort().join(", ") : draft[field];
}

export function sameField(one: Draft, other: Draft, field: DraftField): boolean {
  return valueInWords(one, field) === valueInWords(other, field);
}

export function sameDraft(one: Draft, other: Draft): boolean {
  return FIELDS.every((field) => sameField(one, other, field));
}

export interface Conflict {
  field: DraftField;
  before: string;
  now: string;
  /** The admin's own value, if it is neither of the two; null if there is nothing to decide. */
  yours: string | null;
}

/**
 * Brings an edit together with what was saved since (SPEC 4.1.1: after a 409 the client reloads). The form shows the draft next: everything
 * that was typed, and the newest values of the other fields.
 * @param base the webhook as the admin began to edit it. @param mine as the form stands. @param theirs as it is now.
 * @param replaced names of headers that got another value, which nobody can compare
 */
export function mergeEdits(base: Draft, mine: Draft, theirs: Draft, replaced: readonly string[] = []) {
  const draft = { ...mine };
  const conflicts: Conflict[] = [];
  for (const field of FIELDS) {
    const now = valueInWords(theirs, field, replaced);
    if (valueInWords(base, field) === now) continue;
    const touched = !sameField(base, mine, field);
    const agreed = sameField(mine, theirs, field) && valueInWords(theirs, field) === now;
    if (!touched) Object.assign(draft, { [field]: theirs[field] });
    conflicts.push({
      field,
      before: valueInWords(base, field),
      now,
      yours: touched && !agreed ? valueInWords(mine, field) : null,
    });
  }
  return { draft, conflicts };
}
