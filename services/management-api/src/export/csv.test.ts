import type { DeliveryExportRow } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { csvNames, csvRecord, harmless } from "./csv.ts";

const row: DeliveryExportRow = {
  id: "019c13d6-f400-8271-9bdf-796608ed68a3",
  endpointId: "01a1f9ac-85a7-7000-8000-05bafe1f0496",
  endpointName: "Billing",
  entityId: null,
  eventType: "WorkItemCompleted",
  outcome: "waiting",
  succeeded: false,
  inFlight: false,
  attemptCount: 1,
  statusCode: 503,
  failureKind: "http_status",
  errorSummary: "the receiver answered 503",
  createdAtUtc: "2026-01-31T11:59:59.990Z",
  attemptedAtUtc: "2026-01-31T12:00:00.000Z",
  nextAttemptAtUtc: null,
  durationMs: 42,
  cursor: "AZwT1vQAgnGb33lmCO1oow",
};

/** As a spreadsheet or a program would read it. */
const read = (text: string) => parse(text, { columns: true, record_delimiter: "\r\n" }) as Record<string, string>[];

test("a delivery is a record under the names of its fields, and what it lacks is an empty cell", () => {
  expect(read(csvNames(false) + csvRecord(row, false))).toEqual([
    {
      ...Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value ?? "")])),
      businessEventId: "",
    },
  ]);
  expect(csvNames(false)).not.toContain("body");
});

test("every body comes back from its cell, without the apostrophe that may stand in front", () => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc.string({ unit: fc.constantFrom(",", '"', "\r", "\n", "'", "=", ";", "ä") }),
  );
  fc.assert(
    fc.property(text, (body) => {
      const [cells] = read(csvNames(true) + csvRecord({ ...row, body }, true));
      expect(cells?.body?.replace(/^'/, "")).toBe(body);
      expect(cells?.cursor).toBe(row.cursor);
    }),
  );
});

test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1"])(
  "a cell that holds %j isn't taken for a formula",
  (value) => {
    expect(harmless(value)).toBe(`'${value}`);
  },
);

test("a cell that can't be taken for a formula stays as it is", () => {
  fc.assert(fc.property(fc.json(), (text) => expect(harmless(text).replace(/^'(?=-)/, "")).toBe(text)));
  expect(harmless('{"sum": "=1+1"}')).toBe('{"sum": "=1+1"}');
});
