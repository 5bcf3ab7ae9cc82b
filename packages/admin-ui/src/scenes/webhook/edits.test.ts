import { expect, test } from "@jest/globals";
import { type Draft, mergeEdits, repeatedHeader, sameDraft, settingsOf } from "./edits.ts";

const base: Draft = {
  name: "Billing",
  url: "https://a.example/hook",
  events: ["RiskCreated"],
  enabled: true,
  headers: [],
};

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

const stored = [
  { name: "Authorization", value: "" },
  { name: "X-Key", value: "" },
];
const withHeaders: Draft = { ...base, headers: stored };

test.each<[string, Draft["headers"], object | undefined]>([
  ["nothing changed", [...stored], undefined],
  ["an empty row was added", [...stored, { name: "", value: "" }], undefined],
  [
    "one was replaced",
    [
      { name: "Authorization", value: "new" },
      { name: "X-Key", value: "" },
    ],
    { Authorization: "new", "X-Key": null },
  ],
  [
    "one was renamed",
    [
      { name: "X-Other", value: "" },
      { name: "X-Key", value: "" },
    ],
    { "X-Other": "", "X-Key": null },
  ],
  ["one was removed", [{ name: "X-Key", value: "" }], { "X-Key": null }],
  ["all were removed", [], {}],
])("own headers as the API takes them if %s", (_what, headers, sent) => {
  const { name, url, events, enabled } = base;
  const settings = { name, url, events, enabled };
  expect(settingsOf({ ...withHeaders, headers }, withHeaders)).toEqual(
    sent ? { ...settings, headers: sent } : settings,
  );
});

test("no value of a header is in the words of a conflict, and a name that two have is found", () => {
  const mine = { ...withHeaders, headers: [{ name: "Authorization", value: "MARK" }] };
  const { draft, conflicts } = mergeEdits(withHeaders, mine, { ...withHeaders, headers: [] });
  expect(draft.headers).toEqual(mine.headers);
  expect(conflicts).toEqual([
    { field: "headers", before: "Authorization, X-Key", now: "none", yours: "Authorization (new value)" },
  ]);
  expect(repeatedHeader({ ...base, headers: [...stored, { name: "X-Key", value: "1" }] })).toBe("X-Key");
  expect(repeatedHeader(withHeaders)).toBe(undefined);
});
