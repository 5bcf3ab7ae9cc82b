import { printable, table } from "../output.ts";
import type { Finding, NamedFinding } from "./finding.ts";

/** Findings for a person, each remedy beside what it is for. */
export function reportText(findings: readonly NamedFinding[]): string {
  const rows = findings.flatMap(({ status, check, what, remedy }) => [
    [status, check, printable(what)],
    ...(remedy === null ? [] : [["", "", `-> ${printable(remedy)}`]]),
  ]);
  return `${table(["STATUS", "CHECK", "FINDING"], rows)}\n${summary(findings)}\n`;
}

/** The same as one JSON object. */
export function reportJson(findings: readonly NamedFinding[]): string {
  const { faults, warnings } = count(findings);
  return `${JSON.stringify({ faults, warnings, findings })}\n`;
}

export function count(findings: readonly Finding[]): { faults: number; warnings: number } {
  const of = (status: Finding["status"]) => findings.filter((finding) => finding.status === status).length;
  return { faults: of("fault"), warnings: of("warning") };
}

function summary(findings: readonly Finding[]): string {
  const { faults, warnings } = count(findings);
  if (faults + warnings === 0) return "Nothing to do.";
  return `${plural(faults, "fault")}, ${plural(warnings, "warning")}.`;
}

export function plural(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
