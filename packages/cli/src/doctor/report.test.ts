import { expect, test } from "@jest/globals";
import { fault, type NamedFinding, ok, skipped, warning } from "./finding.ts";
import { reportJson, reportText } from "./report.ts";

const fine: NamedFinding[] = [
  { check: "clock", ...ok("They agree.") },
  { check: "JWKS", ...skipped("AUTH_JWKS_URL is not set.") },
];
const ill: NamedFinding[] = [
  ...fine,
  { check: "schema", ...fault("One migration is missing.", "Run herald migrate.") },
  { check: "limits", ...warning("There is none.\u001b[31m", "Set one.") },
];

test("a report of a right set-up ends with nothing to do", () => {
  expect(reportText(fine)).toBe(
    [
      "STATUS   CHECK  FINDING",
      "ok       clock  They agree.",
      "skipped  JWKS   AUTH_JWKS_URL is not set.",
      "",
      "Nothing to do.",
      "",
    ].join("\n"),
  );
});

test("a report has each remedy under its finding, and counts faults and warnings", () => {
  const lines = reportText(ill).split("\n");
  expect(lines[3]).toMatch(/^fault +schema +One migration is missing\.$/);
  expect(lines[4]).toMatch(/^ +-> Run herald migrate\.$/);
  expect(lines.at(-2)).toBe("1 fault, 1 warning.");
  expect(reportText(ill)).not.toContain("\u001b");
});

test("a report for programs has the same findings", () => {
  expect(JSON.parse(reportJson(ill))).toEqual({ faults: 1, warnings: 1, findings: ill });
});
