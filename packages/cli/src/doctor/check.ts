import { sqlStateOf } from "@herald/common/database/errors";
import { reasonOf } from "../database.ts";
import { type Finding, fault, type NamedFinding, skipped } from "./finding.ts";

/** Looks at one thing, and changes nothing. */
export interface Check<Subject> {
  /** As the report calls it. */
  name: string;
  examine(subject: Subject): Promise<Finding | Finding[]>;
}

/** Is told what is looked at, for whoever waits. */
export type OnCheck = (name: string) => void;

/** Runs checks one after the other. One that can't be finished is a finding too, and stops no other. */
export async function runChecks<Subject>(
  checks: readonly Check<Subject>[],
  subject: Subject,
  onCheck: OnCheck,
): Promise<NamedFinding[]> {
  const findings: NamedFinding[] = [];
  for (const { name, examine } of checks) {
    onCheck(name);
    const found = await examine(subject).catch(unfinished);
    findings.push(...[found].flat().map((finding) => ({ ...finding, check: name })));
  }
  return findings;
}

const INSUFFICIENT_PRIVILEGE = "42501";
const UNDEFINED_TABLE = "42P01";
const UNDEFINED_COLUMN = "42703";

function unfinished(error: unknown): Finding {
  const state = sqlStateOf(error);
  if (state === INSUFFICIENT_PRIVILEGE) return skipped("This user may not look at it.");
  if (state === UNDEFINED_TABLE || state === UNDEFINED_COLUMN)
    return skipped("The schema is not there, or not up to date.");
  return fault(`It can't be examined: ${reasonOf(error)}`, "Look for this message in the log of the server.");
}
