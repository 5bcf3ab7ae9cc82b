import { NotSentError, type NotSentReason } from "@herald/amqp";
import { expect, test } from "@jest/globals";
import type { Sendable } from "./read-row.ts";
import { sendRows } from "./send-rows.ts";

/** Rows 1, 2, 3, ... of these buckets, such as "aab". */
const rowsOf = (buckets: string): Sendable[] =>
  [...buckets].map((bucket, index) => ({
    ...{ number: String(index + 1), json: String(index + 1), bucket, traceparent: undefined },
  }));

/** Sends rows to an emitter that fails for some of them, and tells which were tried before any was done. */
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

test("of each bucket that the broker refuses an event of, the first one is told", async () => {
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

test("a broker that can't be reached is told from one that refuses an event", async () => {
  expect((await send(rowsOf("ab"), { 1: "unroutable" })).isBrokerAway).toBe(false);
  for (const reason of ["unavailable", "unconfirmed", "channel-closed", "closed"] as const) {
    const { isBrokerAway, refused } = await send(rowsOf("ab"), { 1: reason });
    expect({ isBrokerAway, refused: refused.size }).toEqual({ isBrokerAway: true, refused: 0 });
  }
});
