import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useSearch } from "wouter";
import { filtersFromSearch, isNarrowed } from "../../api/delivery-filters.ts";
import { deliveriesQuery } from "../../api/queries.ts";
import { EmptyState } from "../../common/feedback/EmptyState.tsx";
import { ButtonLink } from "../../common/form/Button.tsx";
import { LiveList } from "../../common/page/LiveList.tsx";
import { PageHead } from "../../common/page/PageHead.tsx";
import { Panel, Stack } from "../../common/page/Panel.tsx";
import { Sections } from "../../common/page/Tabs.tsx";
import { DeliveryFilterBar } from "./DeliveryFilterBar.tsx";
import { DeliveryTable } from "./DeliveryTable.tsx";
import { useDeliveryRows } from "./use-delivery-rows.ts";

const HOME = "/deliveries";

/** The deliveries to all webhooks, newest first and live. One of them opens in its webhook's page. */
export default function AllDeliveries() {
  const search = useSearch();
  const filters = useMemo(() => filtersFromSearch(new URLSearchParams(search)), [search]);
  const query = useInfiniteQuery(deliveriesQuery(null, filters));
  const rows = useDeliveryRows(null, filters, query);
  return (
    <>
      <PageHead title="Deliveries">
        <p>What went to all webhooks, newest event first.</p>
      </PageHead>
      <Stack>
        <Sections />
        <Panel>
          <DeliveryFilterBar filters={filters} home={HOME} fields={["outcome", "webhook", "status", "id"]} />
          <LiveList query={query} count={rows.length} what="deliveries" none={<None narrowed={isNarrowed(filters)} />}>
            <DeliveryTable
              rows={rows}
              list={query.isPlaceholderData ? "of before" : search}
              ofAll
              hrefOf={({ id, endpointId }) => `/webhooks/${endpointId}/deliveries/${id}`}
            />
          </LiveList>
        </Panel>
      </Stack>
    </>
  );
}

function None({ narrowed }: { narrowed: boolean }) {
  if (!narrowed) {
    return (
      <EmptyState icon="clock" title="No deliveries yet">
        <p>They appear here by themselves when an event happens that a webhook is subscribed to.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon="search"
      title="No delivery matches"
      action={<ButtonLink href={HOME}>Show all deliveries</ButtonLink>}
    >
      <p>Choose another outcome, webhook, event, status, id or period.</p>
    </EmptyState>
  );
}
