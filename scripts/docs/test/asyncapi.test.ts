import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { names } from "@herald/common/broker/topology";
import { DEFAULT_CATALOGUE } from "@herald/contracts";
import {
  businessEventSchema,
  endpointChangedSchema,
  handOverSchema,
  manualReplySchema,
  manualRequestSchema,
  noticeSchema,
} from "@herald/contracts/schemas";
import { projectFolder } from "@herald/dev/stack/folders";
import { asyncApiDocument } from "@herald/management-api";
import { expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import addFormatsModule from "ajv-formats";
import { parse } from "yaml";

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;
const document = JSON.parse(
  JSON.stringify(asyncApiDocument({ namespace: "herald", catalogue: DEFAULT_CATALOGUE })),
) as ReturnType<typeof asyncApiDocument>;

const specification = new Ajv({ strict: false });
addFormats(specification);
const isAsyncApi = specification.compile(
  createRequire(import.meta.url)("@asyncapi/specs/schemas/3.0.0-without-$id.json") as object,
);

const contracts = new Ajv({ strict: true, allowUnionTypes: true });
addFormats(contracts);

test("docs/asyncapi.yaml is a valid AsyncAPI 3 document, and the schema refuses one that is not valid", () => {
  isAsyncApi(document);
  expect(isAsyncApi.errors ?? []).toEqual([]);
  expect(isAsyncApi({ ...document, operations: { odd: { action: "shout" } } })).toBe(false);
});

test("docs/asyncapi.yaml has no character that YAML does not take", () => {
  const text = readFileSync(join(projectFolder(), "docs/asyncapi.yaml"), "utf8");
  expect(text).not.toMatch(/[^\n\x20-\x7e\u00a0-\ud7ff]/);
  expect(parse(text)).toEqual(document);
});

/** Those of JSON Schema 2020-12 (its section 7.3 of "Validation"). */
const FORMATS = new Set(
  (
    "date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri iri-reference uuid " +
    "uri-template json-pointer relative-json-pointer regex"
  ).split(" "),
);

function formatsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = Object.entries(value).flatMap(([name, each]) =>
    name === "format" && typeof each === "string" ? [each] : [],
  );
  return [...own, ...Object.values(value).flatMap(formatsIn)];
}

test("docs/asyncapi.yaml has no format but JSON Schema's, so that any validator reads it", () => {
  const used = formatsIn(document);
  expect(used).toEqual(expect.arrayContaining(["uuid", "date-time"]));
  expect(used.filter((format) => !FORMATS.has(format))).toEqual([]);
  expect(formatsIn({ payload: { properties: { at: { type: "string", format: "utc-date-time" } } } })).toEqual([
    "utc-date-time",
  ]);
});

test("every reference in docs/asyncapi.yaml leads to something", () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = ""]) => path);
  expect(references.length).toBeGreaterThan(10);
  for (const path of references) {
    let at: unknown = document;
    for (const part of path.split("/")) at = (at as Record<string, unknown>)[part];
    expect([path, typeof at]).toEqual([path, "object"]);
  }
});

test("docs/asyncapi.yaml has every exchange and queue but the inbox and those of dispatchers, whose names are no contract", () => {
  const { inboxQueues: _inbox, behindQueues: _behind, eventQueues: _events, ...own } = names("herald");
  const addresses = Object.values(document.channels).flatMap(({ address }) => (address === null ? [] : [address]));
  expect(addresses.sort()).toEqual(Object.values(own).sort());
});

const { businessEvent, rejectedEvent, handOver, endpointChanged, manualRequest, manualReply, notice } =
  document.components.messages;
test.each([
  { name: "businessEvent", schema: businessEventSchema, message: businessEvent },
  { name: "handOver", schema: handOverSchema, message: handOver },
  { name: "endpointChanged", schema: endpointChangedSchema, message: endpointChanged },
  { name: "manualRequest", schema: manualRequestSchema, message: manualRequest },
  { name: "manualReply", schema: manualReplySchema, message: manualReply },
  { name: "notice", schema: noticeSchema, message: notice },
])("the examples of $name in docs/asyncapi.yaml keep its contract", ({ schema, message }) => {
  const keeps = contracts.compile(schema);
  expect(message.examples.length).toBeGreaterThan(0);
  for (const { payload } of message.examples) {
    keeps(payload);
    expect(keeps.errors ?? []).toEqual([]);
  }
  expect(keeps({})).toBe(false);
});

test("the example of a rejected event in docs/asyncapi.yaml breaks the contract", () => {
  const keeps = contracts.compile({ ...businessEventSchema, $id: "another" });
  for (const { payload } of rejectedEvent.examples) expect(keeps(payload)).toBe(false);
});
