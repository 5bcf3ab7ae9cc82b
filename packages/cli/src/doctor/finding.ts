import { sqlStateOf } from "@herald/common/database/errors";
import { within } from "@herald/common/runtime/repeat";
import { explain, reasonOf, type Server } from "@herald/common/security/connection-fault";
import { plural, table } from "../output.ts";

/**
 * How something that Herald needs was found. `warning`: Herald works, but not as safely or for as long as it could. `fault`: Herald
 * doesn't work, or loses what it was given. `skipped`: it could not be looked at, and why.
 */
export interface Finding {
  status: "ok" | "warning" | "fault" | "skipped";
  /** The finding, in a sentence. It never contains a secret. */
  what: string;
  remedy: string | null;
}

export interface NamedFinding extends Finding {
  check: string;
}

/** A server that has not answered for so long is away. Checks of servers run beside each other, so that a report takes at most five seconds. */
export const ANSWER_MS = 3_000;

export const ok = (what: string): Finding => ({ status: "ok", what, remedy: null });
export const skipped = (what: string): Finding => ({ status: "skipped", what, remedy: null });
export const warning = (what: string, remedy: string): Finding => ({ status: "warning", what, remedy });
export const fault = (what: string, remedy: string): Finding => ({ status: "fault", what, remedy });

export function warningsOf(all: readonly (readonly [isSo: boolean, what: string, remedy: string])[]): Finding[] {
  return all.flatMap(([isSo, what, remedy]) => (isSo ? [warning(what, remedy)] : []));
}

export function refusal(error: unknown, server: Server, url: string): Finding {
  const { what, remedy } = explain(error, server, url);
  return fault(what, remedy);
}

/** Looks at one thing, and leaves nothing changed. */
export interface Check<Subject> {
  name: string;
  /** @returns nothing if nothing is wrong */
  examine(subject: Subject): Promise<Finding | Finding[]>;
}

/** Called with the name of each check as it begins, to show it to the person who waits. */
export type OnCheck = (name: string) => void;

/** No server that answers takes so long for a check. */
const CHECK_MS = 60_000;

/** Runs checks one after the other. One that fails is a finding too, and stops no other. After one without an end, the server is asked no more. */
export async function runChecks<Subject>(
  checks: readonly Check<Subject>[],
  subject: Subject,
  onCheck: OnCheck,
): Promise<NamedFinding[]> {
  const findings: NamedFinding[] = [];
  for (const { name, examine } of checks) {
    onCheck(name);
    const found = [await within(CHECK_MS, examine(subject).catch(unfinished), LATE)].flat();
    if (found.length === 0) found.push(ok("As it should be."));
    findings.push(...found.map((finding) => ({ ...finding, check: name })));
    if (found.includes(LATE)) break;
  }
  return findings;
}

const LATE = fault(`It has no end after ${CHECK_MS / 1_000} s.`, "The server stands still, or the way to it is cut.");

const INSUFFICIENT_PRIVILEGE = "42501";
const UNDEFINED = ["42P01", "42703"];
/** A lock that is not there in time, and a statement. */
const OUT_OF_TIME = ["55P03", "57014"];

function unfinished(error: unknown): Finding {
  const state = sqlStateOf(error);
  if (state === INSUFFICIENT_PRIVILEGE) return skipped("This user may not look at it.");
  if (UNDEFINED.includes(state ?? "")) return skipped("The schema is not there, or not up to date.");
  if (OUT_OF_TIME.includes(state ?? ""))
    return warning(
      "PostgreSQL did not let it read what it needs within 3 s.",
      'If another session locks it, the check "locks" names that one while the services run. Otherwise the server is overloaded.',
    );
  return fault(`It can't be examined: ${reasonOf(error)}`, "Look for this message in the log of the server.");
}

/** Findings for a person, each remedy beside what it is for; or as one JSON object. */
export function report(findings: readonly NamedFinding[], asJson: boolean): string {
  const [faults, warnings] = [countOf("fault", findings), countOf("warning", findings)];
  if (asJson) return `${JSON.stringify({ faults, warnings, findings })}\n`;
  const rows = findings.flatMap(({ status, check, what, remedy }) => [
    [status, check, what],
    ...(remedy === null ? [] : [["", "", `-> ${remedy}`]]),
  ]);
  const summary =
    faults + warnings === 0 ? "Nothing to do." : `${plural(faults, "fault")}, ${plural(warnings, "warning")}.`;
  return `${table(["STATUS", "CHECK", "FINDING"], rows)}\n${summary}\n`;
}

export function countOf(status: Finding["status"], findings: readonly Finding[]): number {
  return findings.filter((finding) => finding.status === status).length;
}
