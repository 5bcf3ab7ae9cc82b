import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_CATALOGUE, judgeEvent } from "@herald/contracts";
import { afterAll, expect, test } from "@jest/globals";
import { catalogueMark, catalogueRules, readCatalogue } from "./event-types.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-event-types-"));
afterAll(() => rmSync(folder, { recursive: true }));

const invoicePaid = {
  entityType: "Invoice",
  emittedWhen: "an invoice is paid",
  sample: { total: "119.00" },
  dataSchema: {
    type: "object",
    required: ["total"],
    properties: { total: { $ref: "#/$defs/money" } },
    $defs: { money: { type: "string", pattern: "^[0-9]+\\.[0-9]{2}$" } },
  },
};

function read(text: string) {
  const EVENT_TYPES_FILE = join(folder, "event-types.json");
  writeFileSync(EVENT_TYPES_FILE, text);
  return readCatalogue({ EVENT_TYPES_FILE });
}
const reading = (value: unknown) => () => read(JSON.stringify(value));

test("without a file there are the types that Herald has by itself, and the file of them is the same catalogue", () => {
  expect(readCatalogue({})).toBe(DEFAULT_CATALOGUE);
  const read = reading(DEFAULT_CATALOGUE)();
  expect(read).toEqual(DEFAULT_CATALOGUE);
  expect(catalogueMark(read)).toBe(catalogueMark(DEFAULT_CATALOGUE));
  const types = Object.keys(DEFAULT_CATALOGUE).length;
  expect(catalogueMark(DEFAULT_CATALOGUE)).toMatch(new RegExp(`^${types} types \\([0-9a-f]{12}\\)$`));
  expect(catalogueMark({ ...read, "invoice.paid": invoicePaid })).toMatch(new RegExp(`^${types + 1} types `));
});

test.each<[string, unknown, string]>([
  ["a list", [], "the file must be object"],
  ["no type", {}, "the file must NOT have fewer than 1 properties"],
  ["a name with a blank", { "Invoice paid": invoicePaid }, "/Invoice paid is no name"],
  ["a name that an object has", { "": invoicePaid }, "/ is no name"],
  ["no words", { "invoice.paid": { ...invoicePaid, emittedWhen: undefined } }, "/invoice.paid/emittedWhen is missing"],
  ["a misspelt field", { "invoice.paid": { ...invoicePaid, schema: {} } }, "/invoice.paid/schema is not known"],
  [
    "a sample that breaks the contract",
    { "invoice.paid": { ...invoicePaid, sample: { changes: { Total: { oldValue: 1, newValue: "2" } } } } },
    "/invoice.paid/sample/changes/Total/oldValue must be text or null",
  ],
  [
    "a sample that breaks its schema",
    { "invoice.paid": { ...invoicePaid, sample: { total: "119" } } },
    '/invoice.paid/sample/total must match pattern "^[0-9]+\\.[0-9]{2}$"',
  ],
  [
    "a schema that is none",
    { "invoice.paid": { ...invoicePaid, dataSchema: { type: "money" } } },
    "/invoice.paid/dataSchema is no JSON Schema",
  ],
  [
    "a schema with a keyword that does not exist",
    { "invoice.paid": { ...invoicePaid, dataSchema: { type: "object", propertys: {} } } },
    'unknown keyword: "propertys"',
  ],
])("a file with %s is refused, with what and where", (_what, value, words) => {
  expect(reading(value)).toThrow("EVENT_TYPES_FILE: ");
  expect(reading(value)).toThrow("event-types.json");
  expect(reading(value)).toThrow(words);
});

test("a file that is not there, and one that is no JSON, are refused with the place of the mistake", () => {
  expect(() => readCatalogue({ EVENT_TYPES_FILE: join(folder, "none.json") })).toThrow(
    /EVENT_TYPES_FILE: .*none\.json/s,
  );
  expect(() => read('{\n"a": }')).toThrow("is not valid JSON: Unexpected token");
});

test("publishers go by the names of the catalogue, and by its schemas of data", () => {
  const eventTypes = catalogueRules(reading({ "invoice.paid": invoicePaid })());
  const options = { now: new Date("2026-01-31T12:00:01Z"), windowMs: 86_400_000, eventTypes };
  const judge = (event: object) =>
    judgeEvent(
      Buffer.from(
        JSON.stringify({
          organizationId: "org-1",
          id: "00000000-0000-4000-8000-000000000001",
          occurredAtUtc: "2026-01-31T12:00:00Z",
          entityType: "Invoice",
          entityId: "00000000-0000-4000-8000-000000000002",
          type: "invoice.paid",
          data: { total: "7.00" },
          ...event,
        }),
      ),
      options,
    );
  expect(judge({}).kind).toBe("event");
  expect(judge({ data: { total: "7.00", changes: { Status: { oldValue: null, newValue: "Paid" } } } }).kind).toBe(
    "event",
  );
  expect(judge({ type: "RiskCreated" })).toEqual({ kind: "ignored", type: "RiskCreated" });
  expect(judge({ type: "constructor" }).kind).toBe("ignored");
  expect(judge({ data: {} })).toMatchObject({ kind: "rejected", reason: "/data must have required property 'total'" });
  expect(judge({ data: { total: 7 } })).toMatchObject({ reason: "/data/total must be string" });
  expect(judge({ data: { total: "7.00", changes: [] } })).toMatchObject({ reason: "/data/changes must be an object" });
});
