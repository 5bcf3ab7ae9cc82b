import { expect, test } from "@jest/globals";
import { resumeWords } from "./resume-words.ts";

test.each([
  [0, 0, false, "Nothing waits: the next event will be the first to go out."],
  [1, 0, false, "Resuming sends 1 delivery that waits here."],
  [12, 0, false, "Resuming sends 12 deliveries that wait here."],
  [0, 3, false, "Resuming sends 3 events of the last seven days that came meanwhile."],
  [
    12,
    1,
    false,
    "Resuming sends 13 deliveries: 12 that wait here, and 1 event of the last seven days that came meanwhile.",
  ],
  [
    2,
    10_000,
    true,
    "Resuming sends at least 10,002 deliveries: 2 that wait here, and at least 10,000 events of the last seven days that came meanwhile.",
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
    "Resuming sends 5 deliveries that wait here.",
  );
});

test("a count that the API broke off is a minimum", () => {
  const onResume = { parked: 10_000, missedEvents: 0, missedEventsIsMinimum: false };
  expect(resumeWords({ unfinished: { pending: 0, parked: 10_000 }, onResume })).toMatch(/at least 10,000 deliveries/);
});
