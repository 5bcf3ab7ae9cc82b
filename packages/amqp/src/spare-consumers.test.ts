import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type QueueUse, shareOut } from "./spare-consumers.ts";

const OWN = 8;
const sparePrefetch = 64;
const queue = (peak: number, spares = 0, prefetch = OWN): QueueUse => ({ prefetch, peak, spares });
const shared = (queues: QueueUse[], total = 4, first = 0) => shareOut(queues, { total, first, sparePrefetch });

describe("spare consumers", () => {
  test("all spare consumers go to the only queue that is full", () => {
    expect(shared([queue(1), queue(8), queue(0)])).toEqual([0, 4, 0]);
  });

  test("a queue is full when it holds its own prefetch, however small that is", () => {
    expect(shared([queue(1, 0, 1), queue(7, 0, 10)])).toEqual([4, 0]);
  });

  test("queues that are full share the spare consumers, and each assignment begins with another queue", () => {
    const full = [queue(8), queue(8), queue(8), queue(8), queue(8)];
    expect(shared(full)).toEqual([1, 1, 1, 1, 0]);
    expect(shared(full, 4, 3)).toEqual([1, 1, 0, 1, 1]);
    expect(shared([queue(8), queue(264, 4)])).toEqual([2, 2]);
  });

  test("spare consumers stay where they are while no other queue wants them", () => {
    expect(shared([queue(0, 4), queue(3)])).toEqual([4, 0]);
    expect(shared([queue(0, 4), queue(8)])).toEqual([0, 4]);
  });

  test("a queue keeps the spare consumers that it has used", () => {
    expect(shared([queue(60, 4), queue(8)])).toEqual([1, 3]);
  });

  test("no more spare consumers are assigned than there are, and full queues differ by at most one (property)", () => {
    const use = fc.record({ prefetch: fc.integer({ min: 1, max: 16 }), peak: fc.nat(300), spares: fc.nat(4) });
    const queues = fc.array(use, { minLength: 1, maxLength: 16 });
    fc.assert(
      fc.property(queues, fc.integer({ min: 0, max: 8 }), fc.nat(15), (queues, total, first) => {
        const target = shared(queues, total, first);
        expect(target.reduce((sum, spares) => sum + spares, 0)).toBeLessThanOrEqual(total);
        const full = queues.map(({ prefetch, peak, spares }) => peak >= prefetch + spares * sparePrefetch);
        for (const [index, isFull] of full.entries()) {
          if (isFull) expect(Math.max(...target) - (target[index] as number)).toBeLessThan(2);
        }
      }),
    );
  });
});
