import { NotSentError, type NotSentReason } from "@herald/amqp";
import { expect, test } from "@jest/globals";
import { newEvent } from "../emitted-event.ts";
import type { Row } from "./read-row.ts";
import { sendRows } from "./send-rows.ts";

const ENTITIES = ["5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111", "b7a3c1de-14a8-4e58-9a4e-3e6f0a4c2f10"];

/** Rows 1, 2, 3, ... of the first and the second entity, such as "aab". */
function rowsOf(entities: string): Row[] {
  return [...entities].map((letter, index) => {
    const entityId = ENTITIES[letter === "a" ? 0 : 1] as string;
    const event = newEvent({ organizationId: "acme", type: "RiskCreated", entityType: "Risk", entityId });
    return { number: String(index + 1), event: JSON.stringify(event), traceparent: null };
  });
}

/** Sends rows to an emitter that fails for some of them, and tells in which order they were tried. */
async function send(rows: Row[], failures: Record<string, NotSentReason> = {}, { passedOver = [""], tries = 99 } = {}) {
  const tried: string[] = [];
  const numbers = new Map(rows.map(({ event, number }) => [event, number]));
  const emitter = {
    emitJson: async (json: string) => {
      const number = numbers.get(json) as string;
      tried.push(number);
      await new Promise((resolve) => setImmediate(resolve));
      const reason = failures[number];
      if (reason) throw new NotSentError(reason, "no", { what: `event ${number}` });
    },
  };
  const result = await sendRows(rows, {
    emitter,
    passedOver: new Set(passedOver),
    isOver: () => tried.length >= tries,
  });
  return { ...result, tried, held: result.held.map(({ number }) => number).sort(), sent: result.sent.sort() };
}

test("rows of one entity are sent one after another, and those of two at once", async () => {
  const { tried, sent, held, failure } = await send(rowsOf("aabab"));
  expect(tried).toEqual(["1", "3", "2", "5", "4"]);
  expect({ sent, held, failure }).toEqual({ sent: ["1", "2", "3", "4", "5"], held: [], failure: undefined });
});

test("after a row that the broker refuses, none of its entity is tried, and those of others are", async () => {
  const { tried, sent, held, failure, isBrokerAway } = await send(rowsOf("aaabab"), { 2: "refused" });
  expect(tried).toEqual(["1", "4", "2", "6"]);
  expect({ sent, held, isBrokerAway }).toEqual({ sent: ["1", "4", "6"], held: ["2", "3", "5"], isBrokerAway: false });
  expect(failure?.message).toContain("event 2");
});

test("a broker that can't be reached is told from one that refuses an event", async () => {
  expect((await send(rowsOf("ab"), { 1: "unroutable" })).isBrokerAway).toBe(false);
  for (const reason of ["unavailable", "unconfirmed", "channel-closed", "closed"] as const) {
    expect((await send(rowsOf("ab"), { 1: reason })).isBrokerAway).toBe(true);
  }
});

test("entities that are passed over are held without a try", async () => {
  const { tried, held } = await send(rowsOf("abab"), {}, { passedOver: [`${ENTITIES[0]} acme`] });
  expect({ tried, held }).toEqual({ tried: ["2", "4"], held: ["1", "3"] });
});

test("when the time is over nothing more begins, and what was not begun is not held", async () => {
  const { tried, sent, held } = await send(rowsOf("aaab"), {}, { tries: 2 });
  expect({ tried, sent, held }).toEqual({ tried: ["1", "4"], sent: ["1", "4"], held: [] });
});

test("a row that is no event is refused, and holds up no other of its batch", async () => {
  const [first, second] = rowsOf("aa") as [Row, Row];
  const { sent, refused } = await send([first, { number: "7", event: "{}", traceparent: null }, second]);
  expect(sent).toEqual(["1", "2"]);
  expect(refused).toEqual([{ number: "7", reason: expect.stringContaining("organizationId") }]);
});
