import type { EndpointOverview } from "@herald/contracts";
import { useSearchParams } from "wouter";
import type { EndpointStatus } from "../../common/display/endpoint-status.ts";
import { Choices } from "../../common/form/Choices.tsx";
import { countByStatus, type ListFilter, listFilterFromSearch, listFilterToSearch, STATUSES } from "./list-filter.ts";
import css from "./webhook-list.module.css";

const words: Record<EndpointStatus, string> = {
  active: "Active",
  failing: "Failing",
  quarantined: "Waiting",
  paused: "Paused",
  disabled: "Disabled",
};

/** Narrows the list by status, which lives in the page's address. */
export function ListControls({ webhooks }: { webhooks: readonly EndpointOverview[] }) {
  const [search, setSearch] = useSearchParams();
  const filter = listFilterFromSearch(search);
  const counts = countByStatus(webhooks);
  const narrow = (change: ListFilter): void => setSearch(listFilterToSearch(change), { replace: true });
  return (
    <search className={css.controls}>
      <Choices
        name="Status"
        value={filter.status ?? "all"}
        options={[
          { value: "all", words: "All", count: webhooks.length },
          ...STATUSES.map((status) => ({ value: status, words: words[status], count: counts[status] })),
        ]}
        onChange={(value) => narrow({ status: value === "all" ? null : value })}
      />
    </search>
  );
}
