import { steeredClock } from "@herald/dev/harness/steered-clock";
import { describe, expect, test } from "@jest/globals";
import { basics, SILENT } from "../../test/basics.ts";
import type { ClockShown } from "../sql/rows.ts";
import { watchClocks } from "./clocks.ts";

const [DAY_S, MINUTE_MS] = [86_400, 60_000];

/** Clocks that go wrong by seconds: this machine's and PostgreSQL's. */
function wrong(machineS: number, postgresS: number) {
  const clock = { ...steeredClock(), machineAheadMs: () => (machineS - postgresS) * 1_000 };
  const logged: unknown[] = [];
  const log = { ...SILENT, error: (_line: string, fields?: object) => void logged.push(fields) };
  const clocks = watchClocks(basics({ clock, log }));
  const receiver = (index: number) => ({
    ...{ endpointId: `endpoint ${index}`, organizationId: `organization ${index}` },
    ...{ host: `${index}.example`, port: 443, url: `https://${index}.example` },
  });
  let next = 0;
  const isOurs = (
    clockShown: ClockShown | undefined,
    failureKind: "http_status" | "certificate_invalid",
    of = next++,
  ) =>
    clocks.areToBlame(receiver(of), { failureKind, statusCode: failureKind === "http_status" ? 401 : 503, clockShown });
  const shown = (offS: number) => (Math.abs(offS) < 300 ? "right" : offS > 0 ? "ahead" : "behind");
  return {
    clock,
    clocks,
    logged,
    isOurs,
    /** An answer of a receiver that checks signatures, with its `Date` or without one. */
    refusal: ({ dated = true, of }: { dated?: boolean; of?: number } = {}) =>
      isOurs(dated ? shown(postgresS) : undefined, "http_status", of),
    certificate: (clockShown: ClockShown, of?: number) => isOurs(clockShown, "certificate_invalid", of),
  };
}

type Verdicts = Record<"expired" | "notYetValid" | "dated" | "undated", boolean>;
const [OURS, THEIRS] = [true, false];

describe("whose fault a failure is that a clock may cause", () => {
  test.each<[string, number, number, Verdicts, string | undefined]>([
    ["both are right", 0, 0, { expired: THEIRS, notYetValid: THEIRS, dated: THEIRS, undated: THEIRS }, undefined],
    [
      "half a minute lies between them",
      15,
      -15,
      { expired: THEIRS, notYetValid: THEIRS, dated: THEIRS, undated: THEIRS },
      undefined,
    ],
    [
      "this machine's is two minutes ahead",
      120,
      0,
      { expired: OURS, notYetValid: THEIRS, dated: THEIRS, undated: THEIRS },
      "this machine's",
    ],
    [
      "this machine's is 400 days behind",
      -400 * DAY_S,
      0,
      { expired: THEIRS, notYetValid: OURS, dated: THEIRS, undated: OURS },
      "this machine's",
    ],
    [
      "this machine's is ten years ahead",
      3_650 * DAY_S,
      0,
      { expired: OURS, notYetValid: THEIRS, dated: THEIRS, undated: OURS },
      "this machine's",
    ],
    [
      "PostgreSQL's is 400 s ahead",
      0,
      400,
      { expired: THEIRS, notYetValid: OURS, dated: OURS, undated: OURS },
      "PostgreSQL's",
    ],
    [
      "PostgreSQL's is a day behind",
      0,
      -DAY_S,
      { expired: OURS, notYetValid: THEIRS, dated: OURS, undated: OURS },
      "PostgreSQL's",
    ],
    [
      "both are 400 s ahead",
      400,
      400,
      { expired: OURS, notYetValid: THEIRS, dated: OURS, undated: OURS },
      "PostgreSQL's and this machine's",
    ],
    [
      "both are 400 days behind",
      -400 * DAY_S,
      -400 * DAY_S,
      { expired: THEIRS, notYetValid: OURS, dated: OURS, undated: OURS },
      "PostgreSQL's and this machine's",
    ],
  ])("if %s", (_title, machineS, postgresS, expected, words) => {
    const { clock, refusal, certificate, logged } = wrong(machineS, postgresS);
    for (let index = 0; index < 3; index++) refusal();
    clock.advance(MINUTE_MS);
    const verdicts = {
      expired: certificate("ahead"),
      notYetValid: certificate("behind"),
      dated: refusal(),
      undated: refusal({ dated: false }),
    };
    expect(verdicts).toEqual(expected);
    // By receivers that were heard before, if they were needed.
    const { undated } = expected;
    const again = wrong(machineS, postgresS);
    expect(again.refusal({ dated: false })).toBe(undated && Math.abs(machineS - postgresS) > 300);
    expect(logged.at(-1)).toEqual(words && expect.objectContaining({ clock: words }));
  });

  test("the log names the clock at most once a minute: the one that receivers don't agree with", () => {
    const { refusal, logged, clock } = wrong(0, 400);
    for (let index = 0; index < 5; index++) refusal();
    expect(logged).toEqual([
      expect.objectContaining({ clock: "this machine's or PostgreSQL's", machineAheadSeconds: -400 }),
    ]);
    clock.advance(MINUTE_MS);
    refusal();
    expect(logged.slice(1)).toEqual([expect.objectContaining({ clock: "PostgreSQL's", byReceivers: "ahead" })]);
  });

  test("certificates that are not valid yet show that both clocks are behind, from the third host on", () => {
    const { certificate } = wrong(-400 * DAY_S, -400 * DAY_S);
    expect([0, 1, 2, 3].map(() => certificate("behind"))).toEqual([THEIRS, THEIRS, OURS, OURS]);
  });

  test("certificates that have expired show nothing", () => {
    const { certificate, refusal } = wrong(0, 0);
    expect(Array.from({ length: 10 }, () => certificate("ahead"))).not.toContain(OURS);
    expect(refusal({ dated: false })).toBe(THEIRS);
  });

  test("receivers of one organization, or a few among many, are wrong about their own time", () => {
    const { clocks, isOurs } = wrong(0, 0);
    const of = (index: number) => ({
      endpointId: "1",
      organizationId: "1",
      host: `${index}.example`,
      port: 443,
      url: "",
    });
    const refused = { failureKind: "http_status", statusCode: 400, clockShown: "ahead" } as const;
    for (let index = 0; index < 10; index++) expect(clocks.areToBlame(of(index), refused)).toBe(THEIRS);
    for (let index = 100; index < 120; index++) isOurs("right", "http_status", index);
    for (let index = 200; index < 210; index++) expect(isOurs("ahead", "http_status", index)).toBe(THEIRS);
  });

  test("what receivers said ten minutes ago is out of date, and what they say since replaces it", () => {
    const { clock, isOurs } = wrong(0, 0);
    const undated = () => isOurs(undefined, "http_status", 99);
    for (const index of [1, 2, 3]) isOurs("ahead", "http_status", index);
    expect(undated()).toBe(OURS);
    isOurs("right", "http_status", 3);
    expect(undated()).toBe(THEIRS);
    isOurs("ahead", "http_status", 3);
    expect(undated()).toBe(OURS);
    clock.advance(10 * MINUTE_MS);
    expect(undated()).toBe(THEIRS);
  });

  test.each([
    ["a refusal by 500", { failureKind: "http_status", statusCode: 500 }],
    ["another failure of the certificate", { failureKind: "certificate_invalid", statusCode: 503 }],
    ["a reset", { failureKind: "connection_reset", statusCode: 503 }],
  ] as const)("%s is no clock's, however wrong clocks are", (_title, result) => {
    expect(wrong(0, 400).clocks.areToBlame(undefined, result)).toBe(THEIRS);
  });
});
