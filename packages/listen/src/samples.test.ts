import { EVENT_TYPES, readEvent } from "@herald/receiver";
import { expect, test } from "@jest/globals";
import { SAMPLES } from "./samples.ts";

test.each(EVENT_TYPES)("the sample of %s is an event, as receivers read it", (type) => {
  expect(readEvent(SAMPLES[type])).toBe(SAMPLES[type]);
});
