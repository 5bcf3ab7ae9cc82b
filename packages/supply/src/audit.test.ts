import { expect, test } from "@jest/globals";
import { auditOf } from "./audit.ts";

const NONE = { info: 0, low: 0, moderate: 0, high: 0, critical: 0 };
const answer = (code: number, report: object) => ({ code, stdout: JSON.stringify(report), stderr: "" });

test("no advisory is clean", () => {
  expect(auditOf(answer(0, { advisories: {}, metadata: { vulnerabilities: NONE } }))).toEqual({ kind: "clean" });
});

test("an advisory is named", () => {
  const advisories = {
    1: { severity: "high", module_name: "left-pad", title: "It pads", url: "https://example.com/1" },
  };
  const result = auditOf(answer(1, { advisories, metadata: { vulnerabilities: { ...NONE, high: 1 } } }));
  expect(result).toMatchObject({ kind: "advisories", text: expect.stringContaining("high: left-pad: It pads") });
});

test.each([
  { code: 1, stdout: "", stderr: "Error: ERR_PNPM_AUDIT_BAD_RESPONSE\n responded with 405" },
  { code: 1, stdout: '{"error":{"code":"ERR_PNPM_AUDIT_BAD_RESPONSE","message":"responded with 405"}}', stderr: "" },
  { code: 0, stdout: "", stderr: "" },
  { code: 0, stdout: "{}", stderr: "" },
])("a registry that doesn't answer is no pass: $stderr$stdout", (result) => {
  expect(auditOf(result).kind).toBe("unanswered");
});
