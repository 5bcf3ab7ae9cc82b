import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_CATALOGUE } from "@herald/contracts";

/** The types that Herald has by itself, and an eighth one, whose data has a schema: as an adopter would write the file. */
export const OWN_CATALOGUE = {
  ...DEFAULT_CATALOGUE,
  "invoice.paid": {
    entityType: "Invoice",
    emittedWhen: "an invoice is paid in full",
    remark: "Partial payments don't count.",
    sample: { total: "119.00", changes: { Status: { oldValue: "Sent", newValue: "Paid" } } },
    dataSchema: {
      type: "object",
      required: ["total"],
      properties: { total: { type: "string", pattern: "^[0-9]+\\.[0-9]{2}$", description: "In euros." } },
    },
  },
};

/** Writes the catalogue into a folder of its own. Returns the file. */
export function ownCatalogueFile(): string {
  const file = join(mkdtempSync(join(tmpdir(), "herald-catalogue-")), "event-types.json");
  writeFileSync(file, JSON.stringify(OWN_CATALOGUE, null, 2));
  return file;
}
