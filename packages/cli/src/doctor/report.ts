import { printable, table } from "../output.ts";
import { type Finding, type NamedFinding, plural } from "./finding.ts";

/** Findings for a person, each remedy beside what it is for. */
export function reportText(findings: readonly NamedFinding[]): string {
  const rows = findings.flatMap(({ status, check, what, remedy }) => [
    [status, check, printable(what)],
    ...(remedy === null ? [] : [["", "", `-> ${printable(remedy)}`]]),
  ]);
  const { faults, warnings } = count(findings);
  const summary =
    faults + warnings === 0 ? "Nothing to do." : `${plural(faults, "fault")}, ${plural(warnings, "warning")}.`;
  return `${table(["STATUS", "CHECK", "FINDING"], rows)}\n${summary}\n`;
}

/** The same as one JSON object. */
export function reportJson(findings: readonly NamedFinding[]): string {
  return `${JSON.stringify({ ...count(findings), findings })}\n`;
}

export function count(findings: readonly Finding[]): { faults: number; warnings: number } {
  const of = (status: Finding["status"]) => findings.filter((finding) => finding.status === status).length;
  return { faults: of("fault"), warnings: of("warning") };
}
