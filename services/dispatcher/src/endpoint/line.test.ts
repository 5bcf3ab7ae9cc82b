import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Delivery, DueRow } from "../sql/describe-deliveries.ts";
import { Line, type Reading } from "./line.ts";
import { createMemory } from "./memory.ts";

const ID = "0190a1b2-0000-7000-8000-000000000001";

/** PostgreSQL's rows of one endpoint, and a line that hears of them. */
function world({ maxBytes = 1_000 } = {}) {
  let nowMs = 0;
  let made = 0;
  const rows = new Map<string, DueRow>();
  const memory = createMemory(maxBytes, () => nowMs);
  const line = new Line(memory, { nowMs: () => nowMs, isDue: ({ dueAt }, atMs) => dueAt.getTime() <= atMs });
  const begun = new Map<string, number>();

  const deliveryOf = (row: DueRow): Delivery => {
    const of = { organizationId: "organization", eventType: "RiskCreated", body: "{}", bodyBytes: 2 };
    return { ...row, ...of, eventKey: null, traceparent: null, createdAt: row.dueAt };
  };

  /** A statement that reads: it sees the rows of its beginning. */
  function read(reading: Reading) {
    const { after, count, isWanted } = reading;
    const order = (one: Reading["after"], other: Reading["after"]) =>
      one.dueAt.getTime() - other.dueAt.getTime() || (one.deliveryId < other.deliveryId ? -1 : 1);
    const found = [...rows.values()]
      .filter((row) => row.deliveryId !== after.deliveryId && order(row, after) > 0)
      .sort(order)
      .slice(0, count)
      .map((row) => ({ ...row }));
    return { rows: found, deliveries: found.filter(isWanted).map(deliveryOf) };
  }

  return {
    line,
    memory,
    rows,
    begun,
    read,
    pass: (ms: number) => {
      nowMs += ms;
    },
    store(): Delivery {
      const deliveryId = `0190a1b2-0000-7000-9000-${(made++).toString(16).padStart(12, "0")}`;
      const row = { endpointId: ID, dueAt: new Date(nowMs), deliveryId, attempts: 0, interruptions: 0 };
      rows.set(deliveryId, row);
      return deliveryOf(row);
    },
    begin(): Delivery | undefined {
      const delivery = line.peek();
      if (!delivery) return undefined;
      line.removeFirst();
      const key = `${delivery.deliveryId}/${delivery.attempts}`;
      begun.set(key, (begun.get(key) ?? 0) + 1);
      return delivery;
    },
    /** A settlement: the row goes, or is due later. */
    settle(delivery: Delivery, retryMs: number | null): void {
      const row = rows.get(delivery.deliveryId);
      const dueAt = retryMs === null ? null : new Date(nowMs + retryMs);
      if (dueAt && row) rows.set(row.deliveryId, { ...row, attempts: row.attempts + 1, dueAt });
      else rows.delete(delivery.deliveryId);
      line.settled(delivery, dueAt);
    },
  };
}

const step = fc.record({
  do: fc.constantFrom(
    "lose the message",
    "hand over",
    "hand over late",
    "sweep",
    "read",
    "answer",
    "begin",
    "settle",
    "fail",
    "put back",
    "leave",
    "pass",
  ),
  count: fc.nat(8),
});

test("each delivery is begun once an attempt, and none is left out, in whatever order messages, readings and results come", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.constantFrom(10, 1_000), (steps, maxBytes) => {
      const { line, memory, rows, begun, read, pass, store, begin, settle } = world({ maxBytes });
      const inFlight: Delivery[] = [];
      const late: Delivery[] = [];
      let reading: { asked: Reading; page: ReturnType<typeof read> } | undefined;
      const ask = (count: number) => {
        if (reading || !line.isUnread) return;
        const asked = line.beginReading(count, inFlight.length);
        reading = { asked, page: read(asked) };
      };
      const answer = () => {
        if (reading) line.endReading(reading.asked, reading.page);
        reading = undefined;
      };
      const sweep = () => {
        const [first] = [...rows.values()].sort((one, other) => one.dueAt.getTime() - other.dueAt.getTime());
        if (first) line.found(first, { crashed: false });
      };
      for (const { do: what, count } of steps) {
        const delivery = inFlight[0];
        if (what === "lose the message") for (let index = 0; index < count; index++) store();
        if (what === "hand over") for (let index = 0; index < count; index++) line.handOver(store());
        if (what === "hand over late") late.push(store());
        if (what === "sweep") sweep();
        if (what === "read") ask(count + 1);
        if (what === "answer") answer();
        if (what === "begin") inFlight.push(...[begin()].filter((each) => each !== undefined));
        if (what === "pass") {
          pass(count * 100);
          for (const each of late.splice(0)) line.handOver(each);
        }
        if (!delivery || !["settle", "fail", "put back", "leave"].includes(what)) continue;
        inFlight.shift();
        if (what === "settle") settle(delivery, null);
        if (what === "fail") settle(delivery, 1 + 50 * count);
        const key = `${delivery.deliveryId}/${delivery.attempts}`;
        if (what === "put back" || what === "leave") begun.delete(key);
        if (what === "put back") line.putBack(delivery);
        if (what === "leave") line.leave(delivery);
      }
      answer();
      for (const each of late.splice(0)) line.handOver(each);
      for (const delivery of inFlight.splice(0)) settle(delivery, null);
      // Only rows whose message was lost, or that were left to PostgreSQL behind the cursor, need a sweep.
      const isLost = steps.some(({ do: what }) => what === "lose the message" || what === "leave");
      for (let round = 0; round < 200 && rows.size > 0; round++) {
        pass(100);
        line.lookForRetries();
        if (isLost) sweep();
        ask(5);
        answer();
        for (let delivery = begin(); delivery; delivery = begin()) settle(delivery, null);
      }
      expect([rows.size, line.hasReady]).toEqual([0, false]);
      expect([...begun].filter(([, times]) => times > 1)).toEqual([]);
      expect(memory.isFull()).toBe(false);
    }),
    { numRuns: 1_000 },
  );
});

test("an event that arrived and is not stored for more than a second is left to PostgreSQL", () => {
  const { line, store, pass, begin } = world();
  line.handOver({ ...store(), arrived: { revision: "1" } });
  line.handOver({ ...store(), arrived: { revision: "1" } });
  pass(1_000);
  expect(begin()).toBeDefined();
  pass(1);
  expect([begin(), line.isUnread]).toEqual([undefined, true]);
});
