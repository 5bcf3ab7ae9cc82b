import type { ExportFormat } from "@herald/contracts";
import { addressesFrom } from "../../api/addresses.ts";
import { type DeliveryFilters, filtersToExport } from "../../api/delivery-filters.ts";
import { Button } from "../../common/form/Button.tsx";
import { Menu } from "../../common/overlay/Menu.tsx";

const choices: { name: string; format: ExportFormat; bodies: boolean }[] = [
  { name: "CSV, for spreadsheets", format: "csv", bodies: false },
  { name: "CSV with bodies", format: "csv", bodies: true },
  { name: "NDJSON, for programs", format: "ndjson", bodies: false },
  { name: "NDJSON with bodies", format: "ndjson", bodies: true },
];

/** Downloads all deliveries that the filters let pass, not only those that are loaded. */
export function ExportMenu({ id, filters }: { id: string; filters: DeliveryFilters }) {
  const home = `${addressesFrom(document.baseURI).api}/webhooks/${id}/deliveries/export`;
  return (
    <Menu
      trigger={<Button icon="download">Export</Button>}
      items={choices.map(({ name, format, bodies }) => ({
        name,
        icon: "download",
        download: `${home}?${filtersToExport(filters, { format, bodies })}`,
      }))}
    />
  );
}
