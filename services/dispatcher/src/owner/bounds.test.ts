import type { Broker, IncomingMessage } from "@herald/common/broker/broker";
import { names } from "@herald/common/broker/topology";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import type { ClaimedDelivery } from "../sql/claimed-delivery.ts";
import { createBudget, type Lane } from "./budget.ts";
import { consumeHints } from "./consume-hints.ts";
import { endpointSlots } from "./endpoint-slots.ts";
import { consumeManualRequests } from "./manual-lane.ts";
import { createScheduler } from "./scheduler.ts";

const MAX_IN_FLIGHT = 30;
const DUE = 20;
const MANUAL = 20;
const CAP = 4;
const ENDPOINTS = ["0190a1b2-aaaa-7000-8000-abcdefabcdef", "0190a1b2-bbbb-7000-8000-fedcbafedcba"];
const log = { debug() {}, info() {}, warn() {}, error() {}, isDebug: false };

/** The text with some of its letters as capitals. */
const inSomeCase = (text: string, capitals: number) =>
  [...text].map((letter, index) => ((capitals >> (index % 31)) & 1 ? letter.toUpperCase() : letter)).join("");

interface Step {
  do: "hint" | "hint with a delivery" | "manual request" | "end";
  endpoint: number;
  capitals: number;
  /** Deliveries that become due. */
  due: number;
}

const step = fc.record<Step>({
  do: fc.constantFrom("hint", "hint with a delivery", "manual request", "end"),
  endpoint: fc.nat(ENDPOINTS.length - 1),
  capitals: fc.nat(),
  due: fc.nat(12),
});

/** The lanes of a dispatcher, without its servers: messages come in as their bytes, and claims answer with ids as PostgreSQL writes them. */
function dispatcher() {
  const handlers = new Map<string, (message: IncomingMessage) => unknown>();
  const broker = {
    names: names("test"),
    sender: () => ({ send: () => false, close: async () => {} }),
    consume({ queue, handle }) {
      handlers.set(String(queue), handle);
      return { async close() {} };
    },
  } as Pick<Broker, "names" | "sender" | "consume"> as Broker;
  const due = ENDPOINTS.map(() => 0);
  const underWay: (ClaimedDelivery & { over: () => void })[] = [];
  const budget = createBudget({ maxInFlight: MAX_IN_FLIGHT });
  const lanes = { due: budget.lane(DUE), manual: budget.lane(MANUAL) };
  const slots = endpointSlots(() => CAP);
  const failures: unknown[] = [];
  const delivery = (endpointId: string, manual = false) =>
    ({ deliveryId: "", endpointId, organizationId: "one", manual }) as ClaimedDelivery;
  const deliver = async (of: ClaimedDelivery, onEnd = () => {}) => {
    await new Promise<void>((over) => underWay.push({ ...of, over }));
    onEnd();
  };
  const scheduler = createScheduler({
    slots,
    lane: lanes.due,
    quarantine: { has: () => false },
    claim: async (demands) =>
      demands.flatMap(({ endpointId, count }) => {
        const index = ENDPOINTS.indexOf(endpointId.toLowerCase());
        const got = Math.min(count, due[index] ?? 0);
        due[index] = (due[index] ?? 0) - got;
        return Array.from({ length: got }, () => delivery(ENDPOINTS[index] ?? ""));
      }),
    deliver,
    onFailure: (error) => failures.push(error),
  });
  const hinted = {
    read: ({ endpointId }: { endpointId: string }) =>
      delivery(endpointId.toLowerCase()) as ClaimedDelivery & { body: "" },
    giveBack: async () => {},
  };
  consumeHints({
    broker,
    scheduler,
    hinted,
    hasShare: () => true,
    clock: { now: () => new Date(), monotonicMs: () => 0 },
    log,
  });
  const claim = async ({ endpointId }: { endpointId: string }) => delivery(endpointId.toLowerCase(), true);
  const manual = { broker, lane: lanes.manual, scheduler, slots, claim, handOver: async () => {}, deliver, log };
  consumeManualRequests(manual, { concurrency: MANUAL });

  async function take(queue: string, message: unknown): Promise<void> {
    const content = Buffer.from(JSON.stringify(message));
    const handled = handlers.get(queue)?.({ content, ack() {}, reply() {} } as unknown as IncomingMessage);
    Promise.resolve(handled).catch((error) => failures.push(error));
    for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  return { broker, due, underWay, lanes, slots, failures, take };
}

/** How many places are free, taken by organizations of one each. */
function roomOf(lane: Lane): number {
  let count = 0;
  while (lane.takeUpTo(`organization ${count}`, 1) === 1) count++;
  for (let index = 0; index < count; index++) lane.giveBack(`organization ${index}`, 1);
  return count;
}

beforeEach(() => void jest.useFakeTimers({ doNotFake: ["setImmediate", "queueMicrotask", "nextTick"] }));
afterEach(() => void jest.useRealTimers());

test("whatever case the ids of messages have, no bound is exceeded, and all is free again in the end", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { broker, due, underWay, lanes, slots, failures, take } = dispatcher();
      const inFlightOf = (id: string, manual: boolean) =>
        underWay.filter((each) => each.endpointId === id && each.manual === manual).length;
      for (const { do: what, endpoint, capitals, due: more } of steps) {
        const endpointId = inSomeCase(ENDPOINTS[endpoint] ?? "", capitals);
        const deliveryId = inSomeCase("0190a1b2-cccc-7000-8000-aabbccddeeff", capitals);
        due[endpoint] = (due[endpoint] ?? 0) + more;
        if (what === "end") underWay.shift()?.over();
        const message = {
          endpointId,
          organizationId: "one",
          ...(what === "hint with a delivery" && { delivery: { deliveryId } }),
        };
        if (what === "manual request") await take(broker.names.manualQueue, { ...message, deliveryId });
        else await take(broker.names.hintsQueue, message);
        expect(underWay.length).toBeLessThanOrEqual(MAX_IN_FLIGHT);
        for (const id of ENDPOINTS) {
          expect(inFlightOf(id, false)).toBeLessThanOrEqual(CAP);
          expect(inFlightOf(id, true)).toBeLessThanOrEqual(MANUAL / 10);
        }
      }
      due.fill(0);
      while (underWay.length > 0) {
        for (const { over } of underWay.splice(0)) over();
        for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
      expect(failures).toEqual([]);
      expect([slots.total(), roomOf(lanes.due), roomOf(lanes.manual)]).toEqual([0, DUE, MANUAL]);
    }),
    { numRuns: 200 },
  );
});

test("what is released twice ends with an error, and the bound stays", async () => {
  const lane = createBudget({ maxInFlight: 10 }).lane(10);
  lane.takeUpTo("one", 1);
  lane.giveBack("one", 1);
  expect(() => lane.giveBack("one", 1)).toThrow("1 are released, of which 0 were taken.");
  expect(roomOf(lane)).toBe(10);
  const slots = endpointSlots(() => CAP);
  expect(() => slots.release("endpoint")).toThrow("1 slots are released, of which 0 were taken.");
  expect([slots.total(), slots.takeUpTo("endpoint", 10)]).toEqual([0, CAP]);
});
