import type { EndpointOverview } from "@herald/contracts";
import { useState } from "react";
import { useSearchParams } from "wouter";
import type { EndpointStatus } from "../../common/display/endpoint-status.ts";
import { Icon } from "../../common/display/Icon.tsx";
import { Choices } from "../../common/form/Choices.tsx";
import controls from "../../common/form/controls.module.css";
import css from "./ListControls.module.css";
import { countByStatus, type ListFilter, listFilterFromSearch, listFilterToSearch, STATUSES } from "./list-filter.ts";

const words: Record<EndpointStatus, string> = {
  active: "Active",
  failing: "Failing",
  quarantined: "Waiting",
  paused: "Paused",
  disabled: "Disabled",
};

/** Narrows the list by text and status; both live in the page's address. */
export function ListControls({ webhooks }: { webhooks: readonly EndpointOverview[] }) {
  const [search, setSearch] = useSearchParams();
  const filter = listFilterFromSearch(search);
  const [text, setText] = useState(filter.text);
  const counts = countByStatus(webhooks);
  const narrow = (change: Partial<ListFilter>): void =>
    setSearch(listFilterToSearch({ ...filter, text, ...change }), { replace: true });
  return (
    <search className={css.controls}>
      <div className={css.find}>
        <Icon name="search" />
        <input
          className={controls.input}
          type="search"
          aria-label="Find by name or URL"
          placeholder="Find by name or URL"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            narrow({ text: event.target.value });
          }}
        />
      </div>
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
