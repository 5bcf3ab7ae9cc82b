import { expect, test } from "@jest/globals";
import { queueConsumers } from "./queue-consumers.ts";

test("regression: a spare consumer that starts while the broker is slow to answer has no other consumer's prefetch", () => {
  const requests: string[] = [];
  const unanswered = new Promise<never>(() => undefined);
  const consumers = queueConsumers(
    {
      prefetch: (count) => {
        requests.push(`prefetch ${count}`);
        return unanswered;
      },
      consume: (queue) => {
        requests.push(`consume ${queue}`);
        return unanswered;
      },
      cancel: () => unanswered,
    },
    {
      queues: ["a", "b"],
      prefetchOf: (queue) => (queue === "a" ? 10 : 1),
      spare: { consumers: 2, prefetch: 40 },
      deliver: () => undefined,
      cancelled: () => undefined,
    },
  );
  void consumers.start();
  // A channel sends requests in this order. What a spare consumer asks for comes later.
  expect(requests).toEqual(["prefetch 10", "consume a", "prefetch 1", "consume b", "prefetch 40"]);
});
