import { beforeEach, describe, expect, test } from "@jest/globals";
import { FLOOD, LOOK_EVERY, NEIGHBOUR_MS, STAY_MS, watchFloods } from "./floods.ts";

const QUEUE = "herald.events.inbox.a";
const OTHER_QUEUE = "herald.events.inbox.b";

let nowMs: number;
let depths: Record<string, number>;
let looks: string[];
let isAway: boolean;
let floods: ReturnType<typeof watchFloods>;

beforeEach(() => {
  nowMs = 5 * NEIGHBOUR_MS;
  depths = {};
  looks = [];
  isAway = false;
  floods = watchFloods({
    inspector: {
      depthOf: async (queue) => {
        looks.push(queue);
        if (isAway) throw new Error("no channel");
        return { messages: depths[queue] ?? 0, consumers: 1 };
      },
    },
    clock: { monotonicMs: () => nowMs },
    log: { info() {} },
  });
});

/** Messages arrive, and what is asked for is answered. Returns how many of them go behind. */
async function arrive(organization: string, count = LOOK_EVERY, queue = QUEUE): Promise<number> {
  let behind = 0;
  for (let each = 0; each < count; each++) if (floods.goesBehind(queue, organization)) behind++;
  await new Promise((resolve) => setImmediate(resolve));
  return behind;
}

describe("floods", () => {
  test("an organization that has most of a queue in which hundreds wait goes behind its neighbours, and they don't", async () => {
    await arrive("neighbour", 1);
    depths[QUEUE] = FLOOD;
    await arrive("flooder");
    expect(await arrive("flooder", 10)).toBe(10);
    expect(await arrive("neighbour", 10)).toBe(0);
    expect(await arrive("flooder", 10, OTHER_QUEUE)).toBe(0);
  });

  test("a burst stays in its queue, and costs no look before it has many messages", async () => {
    await arrive("neighbour", 1);
    depths[QUEUE] = FLOOD - 1;
    await arrive("bursting", LOOK_EVERY - 2);
    expect(looks).toEqual([]);
    await arrive("bursting", 4 * LOOK_EVERY);
    expect(await arrive("bursting")).toBe(0);
    expect(new Set(looks)).toEqual(new Set([QUEUE]));
  });

  test("an organization that is alone in its queue stays there, until others come", async () => {
    depths[QUEUE] = 100 * FLOOD;
    await arrive("alone");
    expect(await arrive("alone")).toBe(0);
    await arrive("neighbour", 1);
    await arrive("alone");
    expect(await arrive("alone")).toBe(LOOK_EVERY);
  });

  test("an organization that emitted long ago is no neighbour", async () => {
    await arrive("neighbour", 1);
    nowMs += NEIGHBOUR_MS;
    depths[QUEUE] = 100 * FLOOD;
    await arrive("alone", 2 * LOOK_EVERY);
    expect(await arrive("alone")).toBe(0);
  });

  test("organizations that share a queue stay, however many messages wait", async () => {
    depths[QUEUE] = 100 * FLOOD;
    for (let each = 0; each < 10 * LOOK_EVERY; each++) {
      expect(floods.goesBehind(QUEUE, each % 3 === 0 ? "a" : "b")).toBe(false);
    }
    expect(looks).toEqual([]);
  });

  test("a flood goes behind while hundreds wait, and for a second after, however many still wait behind", async () => {
    await arrive("neighbour", 1);
    depths[QUEUE] = FLOOD;
    await arrive("flooder");
    nowMs += STAY_MS - 1;
    expect(await arrive("flooder")).toBe(LOOK_EVERY);
    depths = { [QUEUE]: FLOOD - 1, [`${QUEUE}.behind`]: FLOOD };
    nowMs += STAY_MS - 1;
    expect(await arrive("flooder")).toBe(LOOK_EVERY);
    nowMs += 1;
    expect(await arrive("flooder")).toBe(0);
  });

  test("while the broker can't be asked nothing changes, and then it is asked again", async () => {
    await arrive("neighbour", 1);
    depths[QUEUE] = FLOOD;
    isAway = true;
    await arrive("flooder");
    expect(await arrive("flooder")).toBe(0);
    isAway = false;
    await arrive("flooder");
    expect(await arrive("flooder", 1)).toBe(1);
  });
});
