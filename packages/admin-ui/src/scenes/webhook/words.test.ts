import { FAILURE_KINDS } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { diagnose, resumeWords } from "./words.ts";

test("a run of failures is explained by its latest one", () => {
  const run = [
    { statusCode: 500, failureKind: "http_status" },
    { statusCode: 503, failureKind: "connection_refused" },
  ] as const;
  expect(diagnose(run)?.cause).toContain("Nothing accepts connections");
});

test.each([
  [301, "redirects are never followed"],
  [401, "signing secret"],
  [404, "nothing that takes a POST"],
  [413, "too large"],
  [422, "does not accept the body"],
  [429, "limits the rate"],
  [500, "an error of its own (5xx)"],
  [502, "it is down"],
  [503, "asks for a wait"],
  [418, "answered 418"],
])("a run of failures that ends with the answer %i is explained", (statusCode, words) => {
  expect(diagnose([{ statusCode, failureKind: "http_status" }])?.cause).toContain(words);
});

test("every kind of failure has an explanation", () => {
  for (const failureKind of FAILURE_KINDS) {
    expect(diagnose([{ statusCode: 503, failureKind }])).toEqual({
      cause: expect.stringMatching(/^[A-Z].*\.$/),
      remedy: expect.stringMatching(/^[A-Z].*\. Then resume\.$/),
    });
  }
});

test("no failure needs no explanation", () => {
  expect(diagnose([])).toBeNull();
});

test("only a webhook that is off is to be resumed", () => {
  const run = [{ statusCode: 500, failureKind: "http_status" }] as const;
  expect(diagnose(run, false)?.remedy).toContain("Then resume.");
  expect(diagnose(run, true)?.remedy).toContain("Retries go on by themselves.");
});

const CAME = "of the last seven days that came meanwhile.";

test.each([
  [0, 0, false, "Nothing waits: the next event will be the first to go out."],
  [1, 0, false, "Resuming sends 1 delivery that waits here."],
  [12, 0, false, "Resuming sends 12 deliveries that wait here."],
  [10_000, 0, false, "Resuming sends at least 10,000 deliveries that wait here."],
  [0, 3, false, `Resuming sends 3 events ${CAME}`],
  [12, 1, false, `Resuming sends 13 deliveries: 12 that wait here, and 1 event ${CAME}`],
  [2, 9_000, true, `Resuming sends at least 9,002 deliveries: 2 that wait here, and at least 9,000 events ${CAME}`],
])(
  "§3.1/resume a resume says beforehand what it sends (%i waiting, %i missed, more: %s)",
  (parked, missed, more, said) => {
    expect(resumeWords({ onResume: { parked, missedEvents: missed, missedEventsIsMinimum: more } })).toBe(said);
  },
);
