import { expect, test } from "@jest/globals";
import { type Draft, mergeEdits, sameDraft } from "./edits.ts";

const base: Draft = { name: "Billing", url: "https://a.example/hook", events: ["RiskCreated"], enabled: true };

test("§4.1.1 a field that was not touched takes the newest value", () => {
  const { draft, conflicts } = mergeEdits(
    base,
    { ...base, name: "Invoices" },
    { ...base, url: "https://b.example/hook" },
  );
  expect(draft).toEqual({ ...base, name: "Invoices", url: "https://b.example/hook" });
  expect(conflicts).toEqual([
    { field: "url", before: "https://a.example/hook", now: "https://b.example/hook", yours: null },
  ]);
});

test("§4.1.1 what was typed stays, and both values are shown", () => {
  const { draft, conflicts } = mergeEdits(base, { ...base, name: "Mine" }, { ...base, name: "Theirs" });
  expect(draft.name).toBe("Mine");
  expect(conflicts).toEqual([{ field: "name", before: "Billing", now: "Theirs", yours: "Mine" }]);
});

test("§4.1.1 the same change made twice needs no decision", () => {
  const both = { ...base, enabled: false };
  expect(mergeEdits(base, both, both).conflicts).toEqual([{ field: "enabled", before: "on", now: "off", yours: null }]);
});

test("§3.1 an automatic disabling meanwhile is not undone by saving something else", () => {
  const { draft, conflicts } = mergeEdits(base, { ...base, name: "Invoices" }, { ...base, enabled: false });
  expect(draft).toEqual({ ...base, name: "Invoices", enabled: false });
  expect(conflicts).toEqual([{ field: "enabled", before: "on", now: "off", yours: null }]);
});

test("the order in which events were selected makes no difference", () => {
  const one: Draft = { ...base, events: ["RiskCreated", "ProjectCreated"] };
  expect(sameDraft(one, { ...base, events: ["ProjectCreated", "RiskCreated"] })).toBe(true);
  expect(sameDraft(one, base)).toBe(false);
});
