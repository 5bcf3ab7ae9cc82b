import { NotSentError, type NotSentReason } from "@herald/amqp";
import { expect, test } from "@jest/globals";
import { anEvent } from "../../test/given.ts";
import { bucketOf } from "../encode-event.ts";
import { readRow, type Sendable, sendRows } from "./rows.ts";

const event = anEvent({ entityId: "B7A3C1DE-14a8-4e58-9a4e-3e6f0a4c2f10" });
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

test("a reason can be stored in a database of any encoding, whatever the event's fields are called", () => {
  const reading = readRow(row({ ...event, data: { changes: { "a\u0000\ud800\u010db": 7, ["x".repeat(5_000)]: 7 } } }));
  if (reading.kind !== "refused") throw new Error("It was not refused.");
  expect(reading.reason).toContain("data.changes.a???b must be {oldValue, newValue}");
  expect(reading.reason).toHaveLength(1_000);
});

/** Rows 1, 2, 3, ... of these buckets, such as "aab". */
const rowsOf = (buckets: string): Sendable[] =>
  [...buckets].map((bucket, index) => ({
    ...{ number: String(index + 1), json: String(index + 1), bucket, traceparent: undefined },
  }));

/** Sends rows to an emitter that fails for some of them, and returns which were tried before the first one ended. */
async function send(rows: Sendable[], failures: Record<string, NotSentReason> = {}) {
  const tried: string[] = [];
  const emitJson = async (json: string) => {
    tried.push(json);
    await new Promise((resolve) => setImmediate(resolve));
    const reason = failures[json];
    if (reason) throw new NotSentError(reason, "no", { what: `event ${json}` });
  };
  const sending = sendRows(rows, { emitJson });
  const atOnce = [...tried];
  return { ...(await sending), atOnce };
}

test("a row without a trace context is sent with none, and not with that of the relay", async () => {
  const given: unknown[] = [];
  const emitJson = async (_json: string, options: unknown) => void given.push(options);
  const [row] = rowsOf("a") as [Sendable];
  await sendRows([row, { ...row, traceparent: "00-t" }], { emitJson });
  expect(given).toEqual([{ traceparent: null }, { traceparent: "00-t" }]);
});

test("rows are sent all at once", async () => {
  const { atOnce, sent, refused, failure } = await send(rowsOf("aabab"));
  expect(atOnce).toEqual(["1", "2", "3", "4", "5"]);
  expect({ sent, refused: refused.size, failure }).toEqual({ sent: atOnce, refused: 0, failure: undefined });
});

test("the result names the first refused event of each bucket", async () => {
  const { sent, refused, failure, isBrokerAway } = await send(rowsOf("abaabc"), {
    ...{ 3: "refused", 4: "refused", 5: "unroutable" },
  });
  expect({ sent, isBrokerAway }).toEqual({ sent: ["1", "2", "6"], isBrokerAway: false });
  expect([...refused]).toEqual([
    ["a", "3"],
    ["b", "5"],
  ]);
  expect(failure?.message).toContain("event 3");
});

test("an unreachable broker has another result than one that refuses an event", async () => {
  expect((await send(rowsOf("ab"), { 1: "unroutable" })).isBrokerAway).toBe(false);
  for (const reason of ["unavailable", "unconfirmed", "channel-closed", "closed"] as const) {
    const { isBrokerAway, refused } = await send(rowsOf("ab"), { 1: reason });
    expect({ isBrokerAway, refused: refused.size }).toEqual({ isBrokerAway: true, refused: 0 });
  }
});
