import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import type { ConsumeMessage, Message } from "amqplib";
import fc from "fast-check";
import { groupAcks, settleOn } from "./settlements.ts";

/** The broker's side of a channel, by RabbitMQ's rules: a tag that is not outstanding closes the channel (406). */
function brokerSide() {
  const outstanding = new Set<number>();
  const ended = new Map<number, "acknowledged" | "requeued" | "rejected">();
  let frames = 0;

  function end(tag: number, multiple: boolean, how: "acknowledged" | "requeued" | "rejected"): void {
    frames++;
    if (!outstanding.has(tag)) throw new Error(`406 unknown delivery tag ${tag}`);
    for (const other of [...outstanding]) {
      if (other !== tag && (!multiple || other > tag)) continue;
      outstanding.delete(other);
      ended.set(other, how);
    }
  }

  return {
    ended,
    frames: () => frames,
    deliver(tag: number): ConsumeMessage {
      outstanding.add(tag);
      return { content: Buffer.alloc(tag), fields: { deliveryTag: tag } } as ConsumeMessage;
    },
    channel: {
      ack: ({ fields }: Message, allUpTo = false) => end(fields.deliveryTag, allUpTo, "acknowledged"),
      nack: ({ fields }: Message, allUpTo = false, requeue = true) =>
        end(fields.deliveryTag, allUpTo, requeue ? "requeued" : "rejected"),
    },
  };
}

/** Longer than acknowledgements gather. */
const pass = () => jest.advanceTimersByTime(1_000);
const MANY = { enough: 1_000 };

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

test("settlements send the broker the first settlement of each message and no other, in any order", () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.constant({ kind: "deliver" } as const) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("ack" as const), pick: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("requeue" as const), pick: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("reject" as const), pick: fc.nat() }) },
    { weight: 1, arbitrary: fc.constant({ kind: "pass" } as const) },
  );
  const said = { ack: "acknowledged", requeue: "requeued", reject: "rejected" } as const;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 8 }), (steps, enough) => {
      const broker = brokerSide();
      const settlements = settleOn(broker.channel, { enough });
      const messages: ConsumeMessage[] = [];
      const expected = new Map<number, string>();
      for (const step of steps) {
        if (step.kind === "pass") pass();
        else if (step.kind === "deliver") {
          const message = broker.deliver(messages.length + 1);
          messages.push(message);
          settlements.add(message);
        } else if (messages.length > 0) {
          const message = messages[step.pick % messages.length] as ConsumeMessage;
          settlements[step.kind](message);
          // Only the first settlement counts.
          const tag = message.fields.deliveryTag;
          if (!expected.has(tag)) expected.set(tag, said[step.kind]);
        }
      }
      pass();
      expect(new Map([...broker.ended].sort(([a], [b]) => a - b))).toEqual(
        new Map([...expected].sort(([a], [b]) => a - b)),
      );
    }),
  );
});

test("settlements send the acknowledgements of some milliseconds in one frame if that is possible", () => {
  const broker = brokerSide();
  const settlements = settleOn(broker.channel, MANY);
  const messages = [1, 2, 3, 4, 5].map((tag) => broker.deliver(tag));
  for (const message of messages) settlements.add(message);
  for (const message of messages.slice().reverse()) settlements.ack(message);
  expect(broker.frames()).toBe(0);
  pass();
  expect(broker.frames()).toBe(1);
  expect(broker.ended.size).toBe(5);
});

test("settlements send a full batch of acknowledgements at the end of the turn, so that the broker never waits for them", () => {
  const broker = brokerSide();
  const settlements = settleOn(broker.channel, { enough: 2 });
  const messages = [1, 2, 3, 4].map((tag) => broker.deliver(tag));
  for (const message of messages) settlements.add(message);
  for (const message of messages.slice(0, 3)) settlements.ack(message);
  jest.advanceTimersByTime(0);
  expect([...broker.ended.keys()]).toEqual([1, 2, 3]);
  expect(broker.frames()).toBe(1);
  settlements.ack(messages[3] as ConsumeMessage);
  jest.advanceTimersByTime(0);
  expect(broker.frames()).toBe(1);
  pass();
  expect(broker.frames()).toBe(2);
});

test("settlements never cover a message that is still being handled with a frame", () => {
  const [first, second, third, fourth] = [1, 2, 3, 4].map((deliveryTag) => ({ fields: { deliveryTag } }));
  if (!first || !second || !third || !fourth) throw new Error("unreachable");
  expect(groupAcks([second, first, fourth], third)).toEqual({ upTo: second, single: [fourth] });
  expect(groupAcks([second, third], first)).toEqual({ upTo: undefined, single: [second, third] });
  expect(groupAcks([second], undefined)).toEqual({ upTo: second, single: [] });
  expect(groupAcks([], first)).toEqual({ upTo: undefined, single: [] });
});

test("settlements are drained when the last message is settled and its acknowledgement is sent", async () => {
  const broker = brokerSide();
  const settlements = settleOn(broker.channel, MANY);
  const message = broker.deliver(1);
  settlements.add(message);
  let drained = false;
  const draining = settlements.drained().then(() => {
    drained = true;
  });
  await Promise.resolve();
  expect(drained).toBe(false);
  settlements.ack(message);
  await draining;
  expect(broker.ended.get(1)).toBe("acknowledged");
});

test("settlements send nothing to the channel once they are abandoned", async () => {
  const broker = brokerSide();
  const settlements = settleOn(broker.channel, MANY);
  const [first, second] = [broker.deliver(1), broker.deliver(2)];
  settlements.add(first);
  settlements.add(second);
  settlements.ack(first);
  const draining = settlements.drained();
  settlements.abandon();
  await draining;
  settlements.ack(second);
  settlements.requeue(second);
  pass();
  expect(broker.frames()).toBe(0);
});

test("settlements ignore that a closing channel throws", () => {
  const closing = () => {
    throw new Error("Channel closing");
  };
  const settlements = settleOn({ ack: closing, nack: closing }, MANY);
  const [first, second] = [brokerSide().deliver(1), brokerSide().deliver(2)];
  settlements.add(first);
  settlements.add(second);
  settlements.ack(first);
  settlements.requeue(second);
  pass();
});
