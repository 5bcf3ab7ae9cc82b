import { MAX_EVENT_BYTES } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { organizationOf } from "../event/read-event.ts";

const read = (text: string) => organizationOf(Buffer.from(text));

test.each([
  ['{"organizationId":"acme","id":"1"}', "acme"],
  ['\ufeff { "data" : {"organizationId":"other"} , "organizationId" : "acme" }', "acme"],
  ['{"organiz\\u0061tionId":"\\u0061cme"}', "acme"],
  ['{"organizationId":"Übermut","data":"\\"}"}', "Übermut"],
])("the organization of %s is %s", (text, organization) => expect(read(text)).toBe(organization));

test.each([
  ["none", '{"id":"1","data":{"organizationId":"acme"}}'],
  ["no string", '{"organizationId":7}'],
  ["an object", '{"organizationId":{"a":"b"}}'],
  ["half a text", '{"organizationId":"acm'],
  ["half a member", '{"organizationId"'],
  ["a name without a value, behind others", '"x","y"{"organizationId"'],
  ["a broken escape", '{"\\x":1,"organizationId":"acme"}'],
  ["nothing", ""],
  ["a list", '["organizationId","acme"]'],
  ["an id that is too long", `{"organizationId":"${"x".repeat(2_000)}"}`],
  ["an event that is too large", `{"organizationId":"acme","data":"${"x".repeat(MAX_EVENT_BYTES)}"}`],
])("a message with %s shares its turns with others that can't be read", (_name, text) => expect(read(text)).toBe(""));

test("reading an organization ends, whatever the bytes (property)", () => {
  const pieces = fc.constantFrom("{", "}", "[", "]", '"', "\\", ":", ",", " ", "a", '"organizationId"', '"b"', "1");
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
      expect(typeof read(parts.join(""))).toBe("string");
    }),
    { numRuns: 2_000 },
  );
});
