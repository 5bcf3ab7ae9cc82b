import { MAX_EVENT_BYTES } from "@herald/contracts";
import { describe, expect, test } from "@jest/globals";
import { envelopeOf, type Received } from "./cloud-event.ts";

const DATA = '{ "hours": 1.10, "ticks": 12345678901234567890 }';
const ATTRIBUTES = {
  specversion: "1.0",
  id: "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111",
  source: "/projects",
  type: "WorkItemCompleted",
  time: "2026-01-31T12:00:00.000Z",
  subject: "WorkItem/b7a3c1de-14a8-4e58-9a4e-3e6f0a4c2f10",
  organizationid: "org-1",
};
const ENVELOPE = `{"organizationId":"org-1","id":"${ATTRIBUTES.id}","type":"WorkItemCompleted","occurredAtUtc":"2026-01-31T12:00:00.000Z","entityType":"WorkItem","entityId":"b7a3c1de-14a8-4e58-9a4e-3e6f0a4c2f10","data":${DATA}}`;

type Attributes = Record<string, unknown>;

function binary(attributes: Attributes = {}, body = DATA, contentType?: string, prefix = "cloudEvents:"): Received {
  const named = Object.entries({ ...ATTRIBUTES, ...attributes }).filter(([, value]) => value !== undefined);
  const headers = Object.fromEntries(named.map(([name, value]) => [`${prefix}${name}`, value]));
  return { content: Buffer.from(body), headers: { ...headers, note: "kept" }, properties: { contentType } };
}

function structured(
  attributes: Attributes = {},
  member = `,"data":${DATA}`,
  contentType = "application/cloudevents+json",
): Received {
  const head = JSON.stringify({ ...ATTRIBUTES, ...attributes }).slice(0, -1);
  return { content: Buffer.from(`${head}${member}}`), headers: { note: "kept" }, properties: { contentType } };
}

const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("envelopeOf", () => {
  test.each([
    ["binary", binary()],
    ["binary, with underscores", binary({}, DATA, "application/json; charset=utf-8", "cloudEvents_")],
    ["binary, of a type of JSON", binary({}, DATA, "application/vnd.acme+json")],
    ["binary, with a number of milliseconds", binary({ time: Date.parse(ATTRIBUTES.time) })],
    ["structured", structured()],
    ["structured, with a character set", structured({}, undefined, "Application/CloudEvents+JSON; charset=utf-8")],
    ["structured, with an offset", structured({ time: "2026-01-31T13:30:00+01:30" })],
    ["structured, with a schema", structured({ dataschema: "urn:x", datacontenttype: "application/json" })],
  ])("an event in CloudEvents form, %s, is the envelope, with its data as written", (_name, message) => {
    const { content, headers, refused } = envelopeOf(message);
    expect([content.toString(), headers, refused]).toEqual([ENVELOPE, { note: "kept" }, undefined]);
    // What is sent on is an envelope.
    expect(envelopeOf({ content, headers, properties: {} }).content).toBe(content);
  });

  test.each([
    ["binary", binary({ traceparent: TRACE })],
    ["structured", structured({ traceparent: TRACE })],
  ])("a %s one's trace context becomes the message's, which goes first where it has one", (_name, message) => {
    expect(envelopeOf(message).headers).toEqual({ note: "kept", traceparent: TRACE });
    const own = { ...message, headers: { ...message.headers, traceparent: "own" } };
    expect(envelopeOf(own).headers.traceparent).toBe("own");
  });

  test.each<[string, Received]>([
    ["an envelope", { content: Buffer.from(ENVELOPE), headers: {}, properties: { contentType: "application/json" } }],
    ["one without a content type", { content: Buffer.from(ENVELOPE), headers: { note: "x" }, properties: {} }],
    ["a structured one that is no JSON", structured({}, ",")],
    ["a structured one that is too large", structured({}, `,"data":"${"x".repeat(MAX_EVENT_BYTES)}"`)],
    ["a binary one that is too large", binary({}, `"${"x".repeat(MAX_EVENT_BYTES)}"`)],
    [
      "a list",
      { content: Buffer.from("[]"), headers: {}, properties: { contentType: "application/cloudevents+json" } },
    ],
  ])("%s is left to be judged as it came", (_name, message) => expect(envelopeOf(message)).toBe(message));

  const deep = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
  test.each([
    ["an unknown version", binary({ specversion: "0.3" }), /specversion must be "1.0"/],
    ["no version", structured({ specversion: undefined }), /specversion must be "1.0"/],
    ["no organization", structured({ organizationid: undefined }), /organizationid must be there/],
    ["an organization that is no text", binary({ organizationid: deep }), /organizationid must be there, and text/],
    ["no id", binary({ id: undefined }), /id must be there/],
    ["no type", structured({ type: undefined }), /type must be there/],
    ["no time", binary({ time: undefined }), /time must be there/],
    ["a day that isn't", structured({ time: "2026-02-30T12:00:00+01:00" }), /time must be there/],
    ["a time beyond all", binary({ time: 1e300 }), /time must be there/],
    ["a time of whole seconds", binary({ time: { "!": "timestamp", value: 1 } }), /time must be there/],
    ["no subject", binary({ subject: undefined }), /subject must be there/],
    ["a subject without an entity's type", structured({ subject: `/${ATTRIBUTES.id}` }), /subject must be there/],
    ["bytes", structured({ data_base64: "AAAA" }, ""), /data_base64/],
    ["data of another type", binary({}, "<x/>", "text/xml"), /data is text\/xml/],
    ["data of another type within", structured({ datacontenttype: "text/xml" }), /data is text\/xml/],
    ["data of a type that is no text", binary({}, DATA, deep), /data is of no named type/],
    ["data that is more than one value", binary({}, '{},"organizationId":"org-2"'), /not valid JSON/],
    ["another format", structured({}, "", "application/cloudevents+xml"), /cloudevents\+xml is not taken/],
    ["many of them", structured({}, "", "application/cloudevents-batch+json"), /send each CloudEvent by itself/],
  ])("one with %s is refused for it, and kept as it came", (_name, message, reason) => {
    const { content, refused } = envelopeOf(message);
    expect(refused?.reason).toMatch(reason);
    expect(refused?.original).toBe(message);
    expect(JSON.parse(content.toString())).toBeInstanceOf(Object);
  });

  test("what can be read of a refused one stands in its content, for turns and searches", () => {
    const { content } = envelopeOf(binary({ specversion: "0.3" }));
    expect(content.toString()).toBe(ENVELOPE);
  });
});
