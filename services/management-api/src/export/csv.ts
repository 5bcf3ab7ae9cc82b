import type { DeliveryExportRow, ExportFormat } from "@herald/contracts";

/** How an export is written. */
export interface RowFormat {
  /** Its `Content-Type`, without parameters. */
  type: string;
  /** What stands before the first row. */
  head(bodies: boolean): string;
  /** A delivery, with the end of its line. */
  row(row: DeliveryExportRow, bodies: boolean): string;
}

export const rowFormats: Record<ExportFormat, RowFormat> = {
  ndjson: { type: "application/x-ndjson", head: () => "", row: (row) => `${JSON.stringify(row)}\n` },
  csv: { type: "text/csv", head: csvNames, row: csvRecord },
};

// A table as RFC 4180 has it: a line of names, then one record a delivery, each with a CR and LF behind it.

/** In their order. The cursor is the last one, so a record that has it arrived whole. */
const COLUMNS = [
  "id",
  "endpointId",
  "endpointName",
  "businessEventId",
  "entityId",
  "eventType",
  "outcome",
  "succeeded",
  "inFlight",
  "attemptCount",
  "statusCode",
  "failureKind",
  "errorSummary",
  "createdAtUtc",
  "attemptedAtUtc",
  "nextAttemptAtUtc",
  "durationMs",
  "body",
  "cursor",
] as const satisfies (keyof DeliveryExportRow)[];

const columns = (bodies: boolean) => COLUMNS.filter((name) => bodies || name !== "body");

export function csvNames(bodies: boolean): string {
  return recordOf(columns(bodies));
}

/** A delivery as a record. What is null or absent is an empty cell. */
export function csvRecord(row: DeliveryExportRow, bodies: boolean): string {
  return recordOf(columns(bodies).map((name) => String(row[name] ?? "")));
}

function recordOf(values: readonly string[]): string {
  return `${values.map((value) => quoted(harmless(value))).join(",")}\r\n`;
}

/**
 * Spreadsheets run a cell that begins like a formula. Such a cell gets an apostrophe in front, and so does one that begins with
 * an apostrophe: a program that takes one leading apostrophe away has the exact value again.
 */
export function harmless(value: string): string {
  return /^[=+\-@\t\r\n'＝＋－＠]/.test(value) ? `'${value}` : value;
}

function quoted(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}
