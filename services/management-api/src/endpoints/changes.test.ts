import { expect, test } from "@jest/globals";
import type { ChangeRow, Settings } from "../sql/endpoint-changes.ts";
import { authorOf, toChange } from "./changes.ts";

const settings: Settings = {
  name: "Billing",
  url: "https://hooks.example.com/",
  enabled: true,
  events: ["WorkItemCompleted"],
};
const ENDPOINT = { endpointId: "0190a1b2-0000-7000-8000-0000000000e1", endpointName: "Billing" };
const row: ChangeRow = {
  id: "0190a1b2-0000-7000-8000-0000000000c1",
  ...ENDPOINT,
  revision: 2n,
  changedAt: new Date("2026-03-01T12:00:00Z"),
  changedBy: "admin",
  subject: "7",
  name: "Ana",
  before: settings,
  after: settings,
  secretReplaced: false,
  resent: null,
  delivered: null,
};
const change = (after: Partial<Settings>, override: Partial<ChangeRow> = {}) =>
  toChange({ ...row, ...override, after: { ...settings, ...override.before, ...after } });

const paused = { ...settings, enabled: false };
test.each<[string, Partial<Settings>, Partial<ChangeRow>]>([
  ["paused", { enabled: false, name: "Payroll" }, {}],
  ["disabled", { enabled: false }, { changedBy: "herald" }],
  ["resumed", { enabled: true }, { before: paused }],
  ["resumed", { enabled: true }, { before: paused, changedBy: "operator" }],
  ["edited", { url: "https://other.example.com/" }, { before: paused }],
  ["edited", {}, { secretReplaced: true }],
])("it is %s after %j of %j", (kind, after, override) => {
  expect(change(after, override).kind).toBe(kind);
});

test.each([
  ["resent", { resent: 412 }, { resent: 412 }],
  ["delivered", { delivered: "RiskCreated" }, { delivered: { deliveryId: row.id, eventType: "RiskCreated" } }],
])("what was %s touches no setting", (kind, of, shown) => {
  expect(toChange({ ...row, before: null, after: null, ...of })).toMatchObject({
    ...{ kind, before: null, after: null, ...shown },
  });
});

test("a deletion has all settings as they were, and nothing after", () => {
  expect(toChange({ ...row, after: null })).toMatchObject({ kind: "deleted", before: settings, after: null });
});

test.each(["a\0b", "\ud800", "x".repeat(257)])(
  "the hash of the subject %j is kept, since the subject can't be",
  (subject) => {
    const { subject: kept } = authorOf({ subject, name: null });
    expect(kept).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(authorOf({ subject, name: "Ana" }).subject).toBe(kept);
    expect(authorOf({ subject: `${subject}!`, name: null }).subject).not.toBe(kept);
  },
);
