import type { EndpointChange } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { type Draft, mergeEdits, repeatedHeader, sameDraft, settingsOf, unseenSince } from "./edits.ts";

const base: Draft = {
  name: "Billing",
  url: "https://a.example/hook",
  events: ["RiskCreated"],
  enabled: true,
  headers: [],
};

test("§4.1.1 a field that was not touched takes the newest value", () => {
  const url = "https://b.example/hook";
  const { draft, conflicts } = mergeEdits(base, { ...base, name: "Invoices" }, { ...base, url });
  expect(draft).toEqual({ ...base, name: "Invoices", url });
  expect(conflicts).toEqual([{ field: "url", before: base.url, now: url, yours: null }]);
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

const header = (name: string, value = "") => ({ name, value });
const stored = [header("Authorization"), header("X-Key")];
const withHeaders: Draft = { ...base, headers: stored };

test.each<[string, Draft["headers"], object | undefined]>([
  ["nothing changed", [...stored], undefined],
  ["an empty row was added", [...stored, header("")], undefined],
  ["one was replaced", [header("Authorization", "new"), header("X-Key")], { Authorization: "new", "X-Key": null }],
  ["one was renamed", [header("X-Other"), header("X-Key")], { "X-Other": "", "X-Key": null }],
  ["one was removed", [header("X-Key")], { "X-Key": null }],
  ["all were removed", [], {}],
])("own headers as the API takes them if %s", (_what, headers, sent) => {
  const { name, url, events, enabled } = base;
  const settings = { name, url, events, enabled };
  expect(settingsOf({ ...withHeaders, headers }, withHeaders)).toEqual(
    sent ? { ...settings, headers: sent } : settings,
  );
});

test("no value of a header is in the words of a conflict, and a name that two have is found", () => {
  const mine = { ...withHeaders, headers: [header("Authorization", "MARK")] };
  const { draft, conflicts } = mergeEdits(withHeaders, mine, { ...withHeaders, headers: [] });
  expect(draft.headers).toEqual(mine.headers);
  expect(conflicts).toEqual([
    { field: "headers", before: "Authorization, X-Key", now: "none", yours: "Authorization (new value)" },
  ]);
  expect(repeatedHeader({ ...base, headers: [...stored, header("X-Key", "1")] })).toBe("X-Key");
  expect(repeatedHeader(withHeaders)).toBe(undefined);
});

const rename: Draft = { ...withHeaders, name: "Mine" };
const typed: Draft = { ...withHeaders, headers: [header("Authorization", "mine"), ...stored.slice(1)] };
const NEW_VALUE = "Authorization (new value), X-Key";

test.each<[string, Draft, string | null]>([
  ["only the name was edited", rename, null],
  ["a value was typed too", typed, NEW_VALUE],
  ["the header was removed", { ...withHeaders, headers: stored.slice(1) }, "X-Key"],
])(
  "regression: a colleague's new value of a header is a conflict if %s, and no form shows it",
  (_what, mine, yours) => {
    const { draft, conflicts } = mergeEdits(withHeaders, mine, withHeaders, ["Authorization"]);
    expect(conflicts).toEqual([{ field: "headers", before: "Authorization, X-Key", now: NEW_VALUE, yours }]);
    expect(draft.headers).toEqual(mine.headers);
  },
);

test("what no answer shows is read from the changes since the version that the edit began from", () => {
  const change = (version: string, headerValues?: string[], secretReplaced = false) =>
    ({ version, after: headerValues ? { headerValues } : null, secretReplaced }) as EndpointChange;
  const changes = [change("4", ["X-Key"]), change("3", undefined, true), change("2", ["Authorization"])];
  expect(unseenSince(changes, "4")).toEqual({ headerValues: [], secretReplaced: false });
  expect(unseenSince(changes, "3")).toEqual({ headerValues: ["X-Key"], secretReplaced: false });
  expect(unseenSince(changes, "2")).toEqual({ headerValues: ["X-Key"], secretReplaced: true });
  expect(unseenSince(changes, "1")).toEqual({ headerValues: ["X-Key", "Authorization"], secretReplaced: true });
});
