import { setImmediate } from "node:timers/promises";
import { names as namesOf } from "@herald/common/broker/topology";
import { machineClock } from "@herald/common/runtime/clock";
import { beforeEach, expect, test } from "@jest/globals";
import { SILENT } from "../../test/given.ts";
import type { InboxMessage } from "../event/read-event.ts";
import { STAY_MS, watchFloods } from "./floods.ts";

const MOST = 250;
const MOST_BYTES = 1_000_000;
const names = namesOf("herald");
const INBOX = "herald.events.inbox.a";
const BEHIND = "herald.events.inbox.a.behind";

let nowMs: number;
/** The broker's bindings of the exchange of floods: queue and key. */
let bindings: Set<string>;
let depths: Record<string, number>;
let logged: object[];
let isAway: boolean;
/** What happens between the broker's binding and its answer, by the digits; a promise that does not end is an answer that does not come. */
let beforeAnswer: Record<string, () => unknown>;
let floods: ReturnType<typeof watchFloods>;

function publisher(): ReturnType<typeof watchFloods> {
  const answer = <T>(value: T): Promise<T> =>
    isAway ? Promise.reject(new Error("no channel")) : Promise.resolve(value);
  return watchFloods(
    {
      inspector: {
        bind: async (queue, exchange, key) => {
          await answer(bindings.add(`${exchange} ${key} ${queue}`));
          await beforeAnswer[key.slice(2)]?.();
        },
        unbind: (queue, exchange, key) => answer(void bindings.delete(`${exchange} ${key} ${queue}`)),
        isOpen: () => !isAway,
        depthOf: (queue) => answer({ messages: depths[queue] ?? 0, consumers: 1 }),
        close: async () => {},
      },
      names,
      clock: { ...machineClock, monotonicMs: () => nowMs },
      log: { ...SILENT, info: (_message, fields = {}) => void logged.push(fields) },
    },
    { most: MOST, mostBytes: MOST_BYTES },
  );
}

beforeEach(() => {
  nowMs = 5 * STAY_MS;
  bindings = new Set();
  depths = {};
  logged = [];
  isAway = false;
  beforeAnswer = {};
  floods = publisher();
});

const event = (routingKey: string, { queue = INBOX, bytes = 300 } = {}) =>
  ({ message: { routingKey, queue, content: Buffer.alloc(bytes) }, organization: "acme" }) as InboxMessage;

/** Events arrive and are held. Returns them, and whether one of them began a flood. */
function arrive(routingKey: string, count: number, options?: Parameters<typeof event>[1], to = floods) {
  const incoming = Array.from({ length: count }, () => event(routingKey, options));
  const begins = incoming.map((each) => to.came(each));
  return { incoming, begun: begins.includes(true) };
}

const turned = (digits: string, queue = BEHIND) => `herald.events.floods *.${digits} ${queue}`;

test("a sixteenth of which as many events are held as make a flood is turned at once, and no other one is", async () => {
  arrive("RiskCreated.a.6", MOST - 1);
  expect(arrive("RiskCreated.a.7", MOST - 1).begun).toBe(false);
  expect(arrive("order-paid.a.7", 1).begun).toBe(true);
  expect(arrive("order-paid.a.7", 1).begun).toBe(false);
  await floods.look();
  expect([...bindings]).toEqual([turned("a.7")]);
  expect(logged).toEqual([{ organizationId: "acme", queue: BEHIND }]);
});

test("events that were stored do not count, so that a busy organization without a backlog stays", async () => {
  for (let each = 0; each < 10; each++) {
    const { incoming } = arrive("RiskCreated.a.7", MOST / 2);
    for (const one of incoming) floods.over(one);
  }
  await floods.look();
  expect(bindings.size).toBe(0);
});

test("few large events are a flood too", async () => {
  expect(arrive("RiskCreated.a.7", 4, { bytes: MOST_BYTES / 4 }).begun).toBe(true);
  await floods.look();
  expect([...bindings]).toEqual([turned("a.7")]);
});

test.each(["RiskCreated", "RiskCreated.a", "RiskCreated.a.7.x", "RiskCreated.a.#", "RiskCreated.a.*", "", INBOX])(
  "events with the routing key %p, which names no sixteenth, stay in their queue",
  async (key) => {
    expect(arrive(key, 2 * MOST).begun).toBe(false);
    await floods.look();
    expect(bindings.size).toBe(0);
  },
);

test("a sixteenth is turned back a minute after its last flood, and not while events wait in the second queue", async () => {
  const { incoming } = arrive("RiskCreated.a.7", MOST);
  await floods.look();
  nowMs += 10 * STAY_MS;
  await floods.look();
  for (const each of incoming) floods.over(each);
  nowMs += STAY_MS - 1;
  await floods.look();
  expect([...bindings]).toEqual([turned("a.7")]);
  nowMs += 1;
  depths[BEHIND] = 1;
  await floods.look();
  expect([...bindings]).toEqual([turned("a.7")]);
  depths = {};
  await floods.look();
  expect(bindings.size).toBe(0);
});

test("regression: the log tells of each flood that this process turned, also if its first event comes before the answer to the binding", async () => {
  beforeAnswer["a.7"] = () => arrive("RiskCreated.a.7", 1, { queue: BEHIND });
  arrive("RiskCreated.a.7", MOST);
  await floods.look();
  await floods.look();
  expect(logged).toEqual([{ organizationId: "acme", queue: BEHIND }]);
});

test("regression: no flood waits for the answer about another one, begun before or after it", async () => {
  beforeAnswer["a.7"] = () => new Promise(() => {});
  arrive("RiskCreated.a.7", MOST);
  arrive("RiskCreated.b.1", MOST, { queue: "herald.events.inbox.b" });
  void floods.look();
  arrive("RiskCreated.a.8", MOST);
  void floods.look();
  await setImmediate();
  expect(logged).toEqual([
    { organizationId: "acme", queue: "herald.events.inbox.b.behind" },
    { organizationId: "acme", queue: BEHIND },
  ]);
  expect(bindings).toContain(turned("a.8"));
});

test("regression: a sixteenth whose flood is over does not wait for the end of another one in the same second queue", async () => {
  const { incoming } = arrive("RiskCreated.a.7", MOST);
  arrive("RiskCreated.a.8", MOST);
  await floods.look();
  for (const each of incoming) floods.over(each);
  arrive("RiskCreated.a.8", MOST, { queue: BEHIND });
  depths[BEHIND] = 10_000;
  nowMs += STAY_MS;
  await floods.look();
  expect([...bindings]).toEqual([turned("a.8")]);
  // What is left of it in the second queue, however much, delays no neighbour: later events stay in the first queue.
  arrive("RiskCreated.a.7", MOST, { queue: BEHIND });
  await floods.look();
  expect([...bindings]).toEqual([turned("a.8")]);
});

test("a publisher turns back what another one turned, which died, and learns of it by an event from the second queue", async () => {
  arrive("RiskCreated.a.7", MOST);
  await floods.look();
  const other = publisher();
  arrive("RiskCreated.a.7", 1, { queue: BEHIND }, other);
  nowMs += STAY_MS - 1;
  await other.look();
  expect([...bindings]).toEqual([turned("a.7")]);
  nowMs += 1;
  await other.look();
  expect(bindings.size).toBe(0);
});

test("a flood is turned again if another publisher, which has no part of it, has turned it back", async () => {
  arrive("RiskCreated.a.7", MOST);
  await floods.look();
  bindings.clear();
  await floods.look();
  expect([...bindings]).toEqual([turned("a.7")]);
  expect(logged).toHaveLength(1);
});

test("while the broker is away nothing changes, and then a flood is turned, and turned back", async () => {
  isAway = true;
  const { incoming } = arrive("RiskCreated.a.7", MOST);
  await floods.look();
  isAway = false;
  await floods.look();
  expect([...bindings]).toEqual([turned("a.7")]);
  for (const each of incoming) floods.over(each);
  nowMs += STAY_MS;
  isAway = true;
  await floods.look();
  isAway = false;
  await floods.look();
  expect(bindings.size).toBe(0);
});
