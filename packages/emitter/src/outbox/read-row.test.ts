import { expect, test } from "@jest/globals";
import { newEvent } from "../emitted-event.ts";
import { bucketOf } from "../routing-key.ts";
import { readRow } from "./read-row.ts";

const event = newEvent({
  organizationId: "acme",
  type: "RiskCreated",
  entityType: "Risk",
  entityId: "B7A3C1DE-14a8-4e58-9a4e-3e6f0a4c2f10",
});
const row = (json: unknown, traceparent: string | null = null) => ({
  number: "7",
  event: typeof json === "string" ? json : JSON.stringify(json),
  traceparent,
});

test("a row with an event is sent as it is written, to the bucket of its organization", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const json = ` ${JSON.stringify(event)} `;
  expect(readRow(row(json, traceparent))).toEqual({
    kind: "event",
    sendable: { number: "7", json, bucket: bucketOf("acme"), traceparent },
  });
});

test.each(["", "00-x-y-01", `00-${"a".repeat(100_000)}`])("a trace context that is none is left out", (traceparent) => {
  expect(readRow(row(event, traceparent))).toMatchObject({ kind: "event", sendable: { traceparent: undefined } });
});

test.each([
  ["not JSON", "event must be JSON"],
  [{}, "organizationId must be"],
  [{ ...event, id: "7" }, "id must be a UUID"],
])("a row that is no event is refused with the reason: %j", (json, reason) => {
  expect(readRow(row(json))).toEqual({ kind: "refused", number: "7", reason: expect.stringContaining(reason) });
});

test("a reason can be stored, whatever the event's fields are called", () => {
  const reading = readRow(row({ ...event, data: { changes: { "a\u0000\ud800b": 7, ["x".repeat(5_000)]: 7 } } }));
  if (reading.kind !== "refused") throw new Error("It was not refused.");
  expect(reading.reason).toContain("data.changes.a\ufffd\ufffdb must be {oldValue, newValue}");
  expect(reading.reason).toHaveLength(1_000);
});
