import type { DeliveryExportRow, ExportFormat } from "@herald/contracts";
import { csvNames, csvRecord } from "./csv.ts";

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
