import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type QueueUse, shareOut } from "./spare-consumers.ts";

const SIZES = { prefetch: 8, sparePrefetch: 64 };
const queue = (peak: number, spares = 0): QueueUse => ({ peak, spares });
const shared = (queues: QueueUse[], total = 4, first = 0) => shareOut(queues, { total, first, ...SIZES });

describe("spare consumers", () => {
  test("go to the one queue that fills what it may hold", () => {
    expect(shared([queue(1), queue(8), queue(0)])).toEqual([0, 4, 0]);
  });

  test("are shared between queues that are full, beginning with another one each time", () => {
    const full = [queue(8), queue(8), queue(8), queue(8), queue(8)];
    expect(shared(full)).toEqual([1, 1, 1, 1, 0]);
    expect(shared(full, 4, 3)).toEqual([1, 1, 0, 1, 1]);
    expect(shared([queue(8), queue(264, 4)])).toEqual([2, 2]);
  });

  test("stay where they are while no other queue wants them", () => {
    expect(shared([queue(0, 4), queue(3)])).toEqual([4, 0]);
    expect(shared([queue(0, 4), queue(8)])).toEqual([0, 4]);
  });

  test("are left to a queue as far as it has used them", () => {
    expect(shared([queue(60, 4), queue(8)])).toEqual([1, 3]);
  });

  test("are never more than there are, and no queue that is full has two fewer than another (property)", () => {
    const queues = fc.array(fc.record({ peak: fc.nat(300), spares: fc.nat(4) }), { minLength: 1, maxLength: 16 });
    fc.assert(
      fc.property(queues, fc.integer({ min: 0, max: 8 }), fc.nat(15), (queues, total, first) => {
        const target = shared(queues, total, first);
        expect(target.reduce((sum, spares) => sum + spares, 0)).toBeLessThanOrEqual(total);
        const full = queues.map(({ peak, spares }) => peak >= SIZES.prefetch + spares * SIZES.sparePrefetch);
        for (const [index, isFull] of full.entries()) {
          if (isFull) expect(Math.max(...target) - (target[index] as number)).toBeLessThan(2);
        }
      }),
    );
  });
});
