import { expect, test } from "@jest/globals";
import { readEndpoints, stepsTo } from "./endpoints-file.ts";

const URL = "https://hooks.example.com/";
const wanted = { name: "Billing", url: URL, events: ["WorkItemCompleted"] };

test.each<[what: string, text: string, fault: string]>([
  ["nothing", "", "endpoints must be there, as a list."],
  ["a list", "[]", "endpoints must be there, as a list."],
  ["no list of endpoints", "endpoints: {}", "endpoints must be there, as a list."],
  ["a slip in YAML", 'endpoints: ["', "Missing closing"],
  ["a key twice", "endpoints: []\nendpoints: []", "unique"],
  ["an unknown key at the top", "version: 1\nendpoints: []", "version is unknown: there may be endpoints."],
  ["a text in place of an endpoint", "endpoints: [Billing]", "endpoints[0] must be an object with name, url"],
  [
    "a secret",
    JSON.stringify({ endpoints: [wanted, { ...wanted, name: "CRM", signingSecret: "abc" }] }),
    "endpoints[1].signingSecret is unknown: there may be name, url, events, enabled.",
  ],
  ["no name", JSON.stringify({ endpoints: [{ ...wanted, name: undefined }] }), "endpoints[0].name must be a text."],
  ["a number as URL", JSON.stringify({ endpoints: [{ ...wanted, url: 1 }] }), "endpoints[0].url must be a text."],
  ["no events", JSON.stringify({ endpoints: [{ ...wanted, events: [] }] }), "endpoints[0].events must be a list"],
  [
    "a flag as text",
    JSON.stringify({ endpoints: [{ ...wanted, enabled: "yes" }] }),
    "endpoints[0].enabled must be true or false.",
  ],
  [
    "a name twice",
    JSON.stringify({ endpoints: [wanted, { ...wanted, name: "CRM" }, wanted] }),
    "endpoints[2].name is that of endpoints[0] too",
  ],
])("a file of endpoints with %s is refused, with the place", (_what, text, fault) => {
  expect(() => readEndpoints(text)).toThrow(fault);
});

test("all faults of a file of endpoints are said at once", () => {
  const text = JSON.stringify({ endpoints: [{ name: "", url: 1, events: [""], extra: 1 }] });
  expect(() => readEndpoints(text)).toThrow(/\.extra .*\n.*\.name .*\n.*\.url .*\n.*\.events /);
});

const stored = { ...wanted, enabled: true, id: "1", version: "AAAAAAAAAAE=" };

test.each([
  ["an endpoint that is as it should be", [wanted], [stored], false, []],
  [
    "events in another order, and twice",
    [{ ...wanted, events: ["B", "A", "B"] }],
    [{ ...stored, events: ["A", "B"] }],
    false,
    [],
  ],
  [
    "a new endpoint, which is enabled",
    [wanted],
    [],
    false,
    [{ kind: "create", settings: { ...wanted, enabled: true } }],
  ],
  [
    "a new endpoint that is paused",
    [{ ...wanted, enabled: false }],
    [],
    false,
    [{ kind: "create", settings: { enabled: false } }],
  ],
  [
    "a disabled endpoint of which the file does not say whether it is enabled",
    [wanted],
    [{ ...stored, enabled: false }],
    false,
    [],
  ],
  [
    "a disabled endpoint that shall be enabled",
    [{ ...wanted, enabled: true }],
    [{ ...stored, enabled: false }],
    false,
    [{ kind: "change", settings: { enabled: true }, existing: { version: stored.version } }],
  ],
  [
    "another URL of a disabled endpoint",
    [{ ...wanted, url: `${URL}2` }],
    [{ ...stored, enabled: false }],
    false,
    [{ kind: "change", settings: { url: `${URL}2`, enabled: false } }],
  ],
  ["an endpoint that the file doesn't name", [], [stored], false, []],
  ["the same, where such are deleted", [], [stored], true, [{ kind: "delete", existing: stored }]],
  [
    "a name in other letters",
    [{ ...wanted, name: "billing" }],
    [stored],
    true,
    [{ kind: "create" }, { kind: "delete" }],
  ],
  ["a name that the organization has twice and the file doesn't have", [], [stored, { ...stored, id: "2" }], false, []],
])("what is to do for %s", (_what, endpoints, existing, deletes, steps) => {
  expect(stepsTo(endpoints, existing, deletes)).toMatchObject(steps);
});

test("a name of the file that the organization has twice is refused, with both ids", () => {
  const other = { ...wanted, name: "CRM" };
  expect(() => stepsTo([other, wanted], [stored, { ...stored, id: "2" }], true)).toThrow(
    'endpoints[1].name: the organization has more than one endpoint "Billing" (1, 2).',
  );
});
