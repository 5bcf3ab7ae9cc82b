import type { EndpointChange } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { changeAuthor, changedFields, changeTitle, creationWords } from "./change-words.ts";

const change: EndpointChange = {
  endpointId: "0190a1b2-0000-7000-8000-0000000000e1",
  endpointName: "Billing",
  version: "AAAAAAAAAAI=",
  changedAtUtc: "2026-03-01T12:00:00Z",
  kind: "edited",
  changedBy: "admin",
  name: "Ana",
  subject: "7",
  before: {},
  after: {},
  secretReplaced: false,
  resent: null,
  delivered: null,
};

test("a change is titled by what was done", () => {
  expect(changeTitle({ ...change, before: { name: "A" }, after: { name: "B" } })).toBe("Edited");
  expect(changeTitle({ ...change, secretReplaced: true })).toBe("Signing secret replaced");
  expect(changeTitle({ ...change, secretReplaced: true, before: { name: "A" }, after: { name: "B" } })).toBe("Edited");
  expect(changeTitle({ ...change, kind: "resent", resent: 1_000 })).toBe("Sent again: 1,000 deliveries");
  const disabled = { ...change, kind: "disabled", changedBy: "herald" } as const;
  expect(changeTitle(disabled)).toBe("Disabled automatically after failures");
});

test.each<[string | null, Partial<EndpointChange>]>([
  ["Ana", {}],
  ["7", { name: null }],
  ["an admin", { name: null, subject: null }],
  ["the operator of the service", { changedBy: "operator", name: null, subject: null }],
  [null, { changedBy: "herald", name: null, subject: null }],
])("the author is %s after %j", (author, override) => {
  expect(changeAuthor({ ...change, ...override })).toBe(author);
});

test("changed events are named as added and removed", () => {
  const before = { events: ["ProjectCreated" as const, "WorkItemCompleted" as const] };
  expect(changedFields({ ...change, before, after: { events: ["WorkItemCompleted"] } })).toEqual([
    { name: "Events removed", before: null, after: "ProjectCreated" },
  ]);
});

test("a creation is one line, and an edit shows the settings before and after", () => {
  const after = { name: "B", url: "https://b.example.com/", enabled: true, events: ["ProjectCreated" as const] };
  const created = { ...change, kind: "created" as const, before: null };
  expect(changedFields({ ...created, after })).toEqual([]);
  expect(creationWords({ ...created, after })).toBe("https://b.example.com/, 1 event");
  const off = creationWords({ ...created, after: { ...after, enabled: false, headerNames: ["X-Key"] } });
  expect(off).toBe("https://b.example.com/, 1 event, own headers X-Key, not active");
  const renamed = { ...change, before: { name: "A" }, after: { name: "B" }, secretReplaced: true };
  expect(changedFields(renamed)).toEqual([
    { name: "Name", before: "A", after: "B" },
    { name: "Signing secret", before: null, after: "Replaced" },
  ]);
});

test("own headers show by their names, and which of them got a value", () => {
  const before = { headerNames: ["Authorization", "X-Key"] };
  const after = { headerNames: ["X-Key"], headerValues: ["X-Key"] };
  const value = { name: "Header values", before: null, after: "New: X-Key" };
  const names = { name: "Own headers", before: "Authorization, X-Key", after: "X-Key" };
  expect(changedFields({ ...change, before, after })).toEqual([names, value]);
  expect(changedFields({ ...change, before, after: {} })).toEqual([{ ...names, after: "None" }]);
  expect(changedFields({ ...change, before: {}, after: { headerValues: ["X-Key"] } })).toEqual([value]);
});
