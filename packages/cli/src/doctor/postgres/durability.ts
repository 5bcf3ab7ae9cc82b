import type { Check } from "../check.ts";
import { type Finding, fault, ok } from "../finding.ts";
import type { DatabaseSubject } from "./subject.ts";

/** An acknowledged event is on PostgreSQL's disk, or in nobody's hands. */
const SETTINGS = ["fsync", "full_page_writes", "synchronous_commit"] as const;

export type Durability = Record<(typeof SETTINGS)[number], string>;

export const durability: Check<DatabaseSubject> = {
  name: "durability",
  async examine({ session }) {
    const [row] = await session.query<Durability>(
      `select ${SETTINGS.map((name) => `current_setting('${name}') as ${name}`).join(", ")}`,
    );
    return durabilityFinding(row as Durability);
  },
};

export function durabilityFinding(settings: Durability): Finding {
  const off = SETTINGS.filter((name) => settings[name] === "off");
  if (off.length === 0) return ok("What is committed is on disk.");
  return fault(
    `${off.join(" and ")} ${off.length === 1 ? "is" : "are"} off: a power cut loses events that Herald has acknowledged.`,
    `Set ${off.join(" and ")} to on, for the server and for this user.`,
  );
}
