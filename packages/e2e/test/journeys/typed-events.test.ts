import { EVENT_TYPES, samplePayload } from "@herald/contracts";
import { eventPayloadSchema } from "@herald/contracts/schemas";
import { EVENT_TYPES as RECEIVER_TYPES, readEvent } from "@herald/receiver";
import { expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import addFormatsModule from "ajv-formats";
import fc from "fast-check";

const ajv = new Ajv({ strict: true, allowUnionTypes: true });
(addFormatsModule as unknown as typeof addFormatsModule.default)(ajv);
const keepsContract = ajv.compile(eventPayloadSchema);

test("§6/names the receiver's package knows the events of the contract", () => {
  expect(RECEIVER_TYPES).toEqual(EVENT_TYPES);
});
test("§2.4/tolerant whatever keeps the contract is an event to the receiver's package", () => {
  const text = fc.oneof(fc.string(), fc.constant(null));
  const changes = fc.dictionary(fc.string(), fc.record({ oldValue: text, newValue: text }));
  const events = fc.record({
    id: fc.uuid(),
    type: fc.constantFrom(...EVENT_TYPES),
    occurredAtUtc: fc.constantFrom("2026-11-20T09:30:00Z", "2026-11-20T09:30:00.123456Z"),
    entityType: fc.string({ minLength: 1, maxLength: 20 }),
    entityId: fc.uuid().map((id) => id.toUpperCase()),
    data: fc.oneof(fc.record({ changes }), fc.dictionary(fc.constantFrom("hours", "note"), fc.jsonValue())),
  });
  fc.assert(
    fc.property(events, (event) => {
      keepsContract(event);
      expect(keepsContract.errors ?? []).toEqual([]);
      expect(readEvent(event)).toBe(event);
    }),
  );
});

test("§2.4/fields an event that lacks a field is none to the receiver's package, as the contract says", () => {
  const event = samplePayload("RiskCreated");
  for (const field of Object.keys(event)) {
    const lacking = { ...event, [field]: undefined };
    expect([field, readEvent(lacking)]).toEqual([field, null]);
    expect([field, keepsContract(JSON.parse(JSON.stringify(lacking)))]).toEqual([field, false]);
  }
});
