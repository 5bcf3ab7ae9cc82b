import type { EndpointDetails } from "@herald/contracts";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { filtersFromSearch, isNarrowed } from "../../api/delivery-filters.ts";
import { deliveriesQuery } from "../../api/queries.ts";
import { EmptyState } from "../../common/feedback/LoadError.tsx";
import { ButtonLink } from "../../common/form/Button.tsx";
import { LiveList } from "../../common/page/LiveList.tsx";
import { PageHead, Panel, Sections, Stack } from "../../common/page/Page.tsx";
import { DeliveryDrawer } from "./DeliveryDrawer.tsx";
import { DeliveryFilterBar } from "./DeliveryFilterBar.tsx";
import { DeliveryTable } from "./DeliveryTable.tsx";
import css from "./deliveries.module.css";
import { Rates } from "./Rates.tsx";
import { useDeliveryRows } from "./use-delivery-rows.ts";

/** A webhook's deliveries, newest first and live; one of them opens in a drawer that has its own address. */
export function Deliveries({ webhook, openDelivery }: { webhook: EndpointDetails; openDelivery: string | undefined }) {
  const search = useSearch();
  const [, go] = useLocation();
  const filters = useMemo(() => ({ ...filtersFromSearch(new URLSearchParams(search)), webhook: null }), [search]);
  const query = useInfiniteQuery(deliveriesQuery(webhook.id, filters));
  const rows = useDeliveryRows(webhook.id, filters, query);
  const home = `/webhooks/${webhook.id}`;
  const nothingYet = query.data !== undefined && rows.length === 0 && !query.hasNextPage && !isNarrowed(filters);
  const suffix = search ? `?${search}` : "";
  return (
    <>
      {webhook.lastDelivery ? <Rates id={webhook.id} /> : null}
      <Panel title="Deliveries">
        {nothingYet ? null : (
          <DeliveryFilterBar
            filters={filters}
            subscribed={webhook.events}
            home={home}
            fields={["outcome", "status", "id"]}
          />
        )}
        <LiveList
          query={query}
          count={rows.length}
          what="deliveries"
          none={
            isNarrowed(filters) ? (
              <NoMatch home={home} choices="outcome, event, status, id or period" />
            ) : (
              <NoneYet webhook={webhook} home={home} />
            )
          }
        >
          {filters.outcomes.some((outcome) => outcome === "exhausted" || outcome === "expired") ? (
            <p className={css.hint}>
              Nothing sends these again by itself. <Link href={`${home}/never-got${suffix}`}>Send them again</Link>
            </p>
          ) : null}
          <DeliveryTable
            rows={rows}
            list={query.isPlaceholderData ? "of before" : search}
            hrefOf={({ id }) => `${home}/deliveries/${id}${suffix}`}
          />
        </LiveList>
      </Panel>
      {openDelivery ? (
        <DeliveryDrawer
          key={openDelivery}
          webhook={webhook}
          deliveryId={openDelivery}
          onClose={() => go(`${home}${suffix}`)}
        />
      ) : null}
    </>
  );
}

/** The deliveries to all webhooks, newest first and live. One of them opens in its webhook's page. */
export function AllDeliveries() {
  const search = useSearch();
  const filters = useMemo(() => filtersFromSearch(new URLSearchParams(search)), [search]);
  const query = useInfiniteQuery(deliveriesQuery(null, filters));
  const rows = useDeliveryRows(null, filters, query);
  const home = "/deliveries";
  const none = isNarrowed(filters) ? (
    <NoMatch home={home} choices="outcome, webhook, event, status, id or period" />
  ) : (
    <EmptyState icon="clock" title="No deliveries yet">
      <p>They appear here by themselves when an event happens that a webhook is subscribed to.</p>
    </EmptyState>
  );
  return (
    <>
      <PageHead title="Deliveries">
        <p>What went to all webhooks, newest event first.</p>
      </PageHead>
      <Stack>
        <Sections />
        <Panel>
          <DeliveryFilterBar filters={filters} home={home} fields={["outcome", "webhook", "status", "id"]} />
          <LiveList query={query} count={rows.length} what="deliveries" none={none}>
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

/** @param choices what may be chosen otherwise, in words */
function NoMatch({ home, choices }: { home: string; choices: string }) {
  return (
    <EmptyState
      icon="search"
      title="No delivery matches"
      action={<ButtonLink href={home}>Show all deliveries</ButtonLink>}
    >
      <p>Choose another {choices}.</p>
    </EmptyState>
  );
}

function NoneYet({ webhook, home }: { webhook: EndpointDetails; home: string }) {
  return (
    <EmptyState
      icon="clock"
      title="No deliveries yet"
      action={
        webhook.enabled ? (
          <ButtonLink icon="send" href={`${home}/manual`}>
            Send a manual delivery
          </ButtonLink>
        ) : null
      }
    >
      <p>
        {webhook.enabled
          ? "They appear here by themselves as soon as one of the subscribed events happens. To see one now, send it by hand."
          : "The webhook is not active, so nothing is sent. Resume it to let events through."}
      </p>
    </EmptyState>
  );
}
