import { expect, test } from "@jest/globals";
import { ARRIVAL } from "./arrival.ts";

/** For a slow message, or a slow statement. */
const TRANSPORT_MS = 3_000;
const { freshMs, aheadMs, slowMs, storedAfterMs, togetherMs, unstoredMs, handedOverMs, rememberedMs, newOwnerMs } =
  ARRIVAL;

/** The longest time between the end of an attempt of an event that arrived, and the beginning of one of the same event that came again. */
const betweenMs = aheadMs + freshMs + unstoredMs;

test.each<[rule: string, shorter: number, longer: number]>([
  [
    "an owner remembers an attempt until the same event can't be handed over again",
    betweenMs + TRANSPORT_MS,
    rememberedMs,
  ],
  [
    "an owner remembers an attempt until a message about the stored delivery is too old",
    handedOverMs + TRANSPORT_MS,
    rememberedMs,
  ],
  [
    "a new owner waits until nothing can come again that the owner before has attempted",
    betweenMs + TRANSPORT_MS,
    newOwnerMs,
  ],
  [
    "an event is stored before its owner takes it for one that could not be stored",
    storedAfterMs + togetherMs,
    unstoredMs,
  ],
  ["a publisher hands nothing more over by the time that its statement is too slow for an owner", slowMs, unstoredMs],
])("%s", (_rule, shorter, longer) => {
  expect(shorter).toBeLessThanOrEqual(longer);
});
