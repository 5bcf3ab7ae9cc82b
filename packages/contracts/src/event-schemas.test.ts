import { describe, expect, test } from "@jest/globals";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import { samplePayload } from "./event-samples.ts";
import { type EventSchemaKind, eventSchema, eventSchemaFiles } from "./event-schemas.ts";
import { EVENT_TYPES, type EventType } from "./event-types.ts";
import { judgeEvent } from "./judge-event.ts";

/** Strict, and with the standard's formats only: a format of Herald's own would not compile. */
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, validateFormats: true });
(addFormatsModule as unknown as typeof addFormatsModule.default)(ajv);

const compiled = new Map<string, ValidateFunction>();
function keeps(kind: EventSchemaKind, type: EventType, value: unknown): boolean {
  const name = `${kind}/${type}`;
  const validate = compiled.get(name) ?? ajv.compile(eventSchema(kind, type));
  compiled.set(name, validate);
  return validate(value);
}

const sample = { organizationId: "org-1", ...samplePayload("WorkItemCompleted") };
const NOW = new Date("2026-01-31T12:00:01.000Z");
const judge = (text: string) => judgeEvent(Buffer.from(text), { now: NOW, windowMs: 7 * 86_400_000 }).kind;

/** Whether the schema and publishers take an event, given as it crosses the broker. */
const verdicts = (text: string) => ({
  schema: keeps("events", "WorkItemCompleted", JSON.parse(text)),
  publisher: judge(text) === "event",
});

test.each(EVENT_TYPES)("the sample of %s keeps both of its schemas, and no schema of another type", (type) => {
  const payload = samplePayload(type);
  expect(keeps("requests", type, payload)).toBe(true);
  expect(keeps("events", type, { organizationId: "org-1", ...payload })).toBe(true);
  expect(keeps("events", type, payload)).toBe(false);
  for (const other of EVENT_TYPES.filter((each) => each !== type))
    expect(keeps("requests", other, payload)).toBe(false);
});

test("every file of an event's schema has the path that its name says, and names no host", () => {
  const files = eventSchemaFiles();
  expect(Object.keys(files)).toHaveLength(2 * EVENT_TYPES.length);
  for (const [path, text] of Object.entries(files)) {
    const { $schema, ...schema } = JSON.parse(text) as { $schema: string; $id: string };
    expect($schema).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(schema.$id).toBe(`urn:herald:schemas:${path.replace("/", ":").replace(".json", "")}`);
    expect(JSON.stringify(schema)).not.toContain("://");
  }
});

const changed = (override: Record<string, unknown>) => JSON.stringify({ ...sample, ...override });
const changes = (Status: unknown) => changed({ data: { changes: { Status } } });
const time = (occurredAtUtc: string) => changed({ occurredAtUtc });

test.each([
  ["an organization's id of 128 characters beyond the BMP", changed({ organizationId: "😀".repeat(128) })],
  ["an organization's id with blanks, quotes and U+FFFD", changed({ organizationId: ' 財 "務" \ufffd' })],
  ["ids in capitals", changed({ id: sample.id.toUpperCase(), entityId: sample.entityId.toUpperCase() })],
  ["a UUID of no known version", changed({ id: "00000000-0000-0000-0000-000000000000" })],
  ["another kind of entity", changed({ entityType: "Anything" })],
  ["fields that the contract does not name", changed({ more: [1], data: { hours: 7, changes: {} } })],
  ["no changes", changed({ data: {} })],
  ["changes from and to null", changes({ oldValue: null, newValue: null, by: "7" })],
  [
    "a field whose name is not to be trusted",
    changed({ data: { changes: JSON.parse('{"__proto__": {"oldValue":"a","newValue":null}}') } }),
  ],
  ["a time without milliseconds", time("2026-01-31T12:00:00Z")],
  ["a time to the nanosecond", time("2026-01-31T11:59:59.123456789Z")],
  ["UTC as PostgreSQL and Python write it", time("2026-01-31T11:59:59.578284+00:00")],
  ["a time with an offset", time("2026-01-31T17:44:59.5+05:45")],
  ["a time with an offset to the west", time("2026-01-30T23:59:59-12:00")],
])("publishers take too: %s", (_what, text) => {
  expect(verdicts(text)).toEqual({ schema: true, publisher: true });
});

describe("what the schema of an emitter's event refuses", () => {
  const lacking = Object.keys(sample).map((field) => [`no ${field}`, changed({ [field]: undefined })]);
  const numbers = Object.keys(sample).map((field) => [`a number as ${field}`, changed({ [field]: 7 })]);
  const times = [
    "2026-01-31 12:00:00Z",
    "2026-01-31t12:00:00z",
    "2026-01-31T12:00:00",
    "2026-01-31T12:00:00+0000",
    "2026-01-31T12:00:00+00",
    "2026-01-31T12:00:00+24:00",
    "2026-01-31T12:00:00+00:60",
    "2026-01-31T12:00:00Z+00:00",
    "2026-02-30T12:00:00+01:00",
    "2026-01-31T12:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T12:60:00Z",
    "2026-01-31T12:00:60Z",
    "2026-01-31T12:00:00.Z",
    "2026-01-31T12:00:00.1234567890Z",
    "2026-02-30T12:00:00Z",
    "2025-02-29T12:00:00Z",
    "2026-13-01T12:00:00Z",
    "0000-01-01T00:00:00Z",
    "+02026-01-31T12:00:00Z",
    "2026-01-31T12:00:00Z\n",
    "٢٠٢٦-01-31T12:00:00Z",
    "2026-01-31",
    "1769860800",
    "",
  ].map((text) => [`the time ${JSON.stringify(text)}`, time(text)]);
  const ids = [
    "",
    "7",
    "urn:uuid:00000000-0000-4000-8000-000000000001",
    "{00000000-0000-4000-8000-000000000001}",
    "00000000000040008000000000000001",
    "00000000-0000-4000-8000-00000000000g",
    " 00000000-0000-4000-8000-000000000001",
    "00000000-0000-4000-8000-000000000001\n",
  ].map((id) => [`the id ${JSON.stringify(id)}`, changed({ id })]);
  const organizations = ["", "a\n", "\u0000", "a\u007fb", "\u009f", "x".repeat(129), "😀".repeat(129)].map(
    (organizationId) => [
      `the organization ${JSON.stringify(organizationId).slice(0, 12)}`,
      changed({ organizationId }),
    ],
  );

  test.each([
    ...lacking,
    ...numbers,
    ...times,
    ...ids,
    ...organizations,
    ["null for the event", "null"],
    ["a list for the event", `[${JSON.stringify(sample)}]`],
    ["text for the event", '"WorkItemCompleted"'],
    ["a type without a name", changed({ type: "" })],
    ["a kind of entity without a name", changed({ entityType: "" })],
    ["a kind of entity of 129 characters", changed({ entityType: "😀".repeat(129) })],
    ["null for the data", changed({ data: null })],
    ["a list for the data", changed({ data: [] })],
    ["null for the changes", changed({ data: { changes: null } })],
    ["a list for the changes", changed({ data: { changes: [] } })],
    ["text for a change", changes("Done")],
    ["null for a change", changes(null)],
    ["a number for a value", changes({ oldValue: 1, newValue: "2" })],
    ["a change without its new value", changes({ oldValue: "InProgress" })],
    ["an object for a value", changes({ oldValue: null, newValue: {} })],
  ])("publishers refuse too: %s", (_what, text = "") => {
    expect(verdicts(text)).toEqual({ schema: false, publisher: false });
  });
});

// docs/emitting-events.md has the same list.
test("what a schema can't say is refused by publishers alone", () => {
  const beyondSchemas = {
    "half of a surrogate pair in the organization's id": changed({ organizationId: "\ud800" }),
    "more than an hour in the future": time("2026-01-31T13:00:02.000Z"),
    "more than 256 KiB": changed({ data: { note: "x".repeat(256 * 1024) } }),
  };
  for (const [what, text] of Object.entries(beyondSchemas)) {
    expect([what, verdicts(text)]).toEqual([what, { schema: true, publisher: false }]);
  }
  expect([
    judge(time("2026-01-24T11:59:59Z")),
    keeps("events", "WorkItemCompleted", JSON.parse(time("2026-01-24T11:59:59Z"))),
  ]).toEqual(["stale", true]);
});
