import { expect, test } from "@jest/globals";
import { resumeWords } from "./resume-words.ts";

test.each([
  [0, 0, false, "Nothing waits: the next event will be the first to go out."],
  [1, 0, false, "1 delivery will go out: it waits here since before."],
  [12, 0, false, "12 deliveries will go out: they wait here since before."],
  [0, 3, false, "3 deliveries will go out: 3 events of the last seven days that came meanwhile."],
  [
    12,
    1,
    false,
    "13 deliveries will go out: 12 that wait here, and 1 event of the last seven days that came meanwhile.",
  ],
  [
    2,
    10_000,
    true,
    "At least 10,002 deliveries will go out: 2 that wait here, and at least 10,000 events of the last seven days that came meanwhile.",
  ],
])(
  "§3.1/resume a resume says beforehand what it sends (%i waiting, %i missed, more: %s)",
  (waiting, missedEvents, more, words) => {
    const unfinished = { pending: 0, parked: waiting };
    expect(resumeWords({ unfinished, onResume: { parked: waiting, missedEvents, missedEventsIsMinimum: more } })).toBe(
      words,
    );
  },
);

test("§3.1/resume what is not due yet goes out as well", () => {
  const onResume = { parked: 1, missedEvents: 0, missedEventsIsMinimum: false };
  expect(resumeWords({ unfinished: { pending: 4, parked: 1 }, onResume })).toBe(
    "5 deliveries will go out: they wait here since before.",
  );
});

test("a count that the API broke off is a minimum", () => {
  const onResume = { parked: 10_000, missedEvents: 0, missedEventsIsMinimum: false };
  expect(resumeWords({ unfinished: { pending: 0, parked: 10_000 }, onResume })).toMatch(/^At least 10,000 deliveries/);
});
