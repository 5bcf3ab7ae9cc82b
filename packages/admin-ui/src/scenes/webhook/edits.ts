/** The settings of a webhook that an admin edits. */
export interface Draft {
  name: string;
  url: string;
  events: readonly string[];
  enabled: boolean;
}

export const FIELDS = ["name", "url", "events", "enabled"] as const satisfies readonly (keyof Draft)[];
export type DraftField = (typeof FIELDS)[number];

export const fieldNames: Record<DraftField, string> = {
  name: "Name",
  url: "Endpoint URL",
  events: "Event selection",
  enabled: "Active",
};

/** A field's value in words, to compare and to show. */
export function valueInWords(draft: Draft, field: DraftField): string {
  if (field === "enabled") return draft.enabled ? "on" : "off";
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

export interface Merged {
  /** The form shows this next: everything that was typed, and the newest values of the other fields. */
  draft: Draft;
  /** Changes that another admin or Herald saved meanwhile. */
  conflicts: Conflict[];
}

/**
 * Brings an edit together with what was saved meanwhile (SPEC 4.1.1: after a 409 the client reloads).
 * @param base the webhook as the admin began to edit it. @param mine as the form stands. @param theirs as it is now.
 */
export function mergeEdits(base: Draft, mine: Draft, theirs: Draft): Merged {
  const draft = { ...mine };
  const conflicts: Conflict[] = [];
  for (const field of FIELDS) {
    if (sameField(base, theirs, field)) continue;
    const touched = !sameField(base, mine, field);
    const agreed = sameField(mine, theirs, field);
    if (!touched) Object.assign(draft, { [field]: theirs[field] });
    conflicts.push({
      field,
      before: valueInWords(base, field),
      now: valueInWords(theirs, field),
      yours: touched && !agreed ? valueInWords(mine, field) : null,
    });
  }
  return { draft, conflicts };
}
