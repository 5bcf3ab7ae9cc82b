import type { EndpointDetails } from "@herald/contracts";
import { useInfiniteQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { filtersFromSearch, isNarrowed } from "../../api/delivery-filters.ts";
import { deliveriesQuery } from "../../api/queries.ts";
import { sumHours } from "../../common/display/hours.ts";
import { EmptyState } from "../../common/feedback/EmptyState.tsx";
import { ButtonLink } from "../../common/form/Button.tsx";
import { LiveList } from "../../common/page/LiveList.tsx";
import { Panel } from "../../common/page/Panel.tsx";
import { DeliveryDrawer } from "../delivery/DeliveryDrawer.tsx";
import css from "./Deliveries.module.css";
import { DeliveryFilterBar } from "./DeliveryFilterBar.tsx";
import { DeliveryTable } from "./DeliveryTable.tsx";
import { ExportMenu } from "./ExportMenu.tsx";
import { useDeliveryRows } from "./use-delivery-rows.ts";

const DayChart = lazy(() => import("./DayChart.tsx"));

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
      <Panel title="Deliveries">
        <Suspense fallback={<div className={css.chartSpace} />}>
          {sumHours(webhook.last24Hours).total > 0 ? (
            <DayChart hours={webhook.last24Hours} countedSince={webhook.countedSinceUtc} />
          ) : null}
        </Suspense>
        {nothingYet ? null : (
          <DeliveryFilterBar
            filters={filters}
            subscribed={webhook.events}
            home={home}
            fields={["outcome", "status", "id"]}
          >
            <ExportMenu id={webhook.id} filters={filters} />
          </DeliveryFilterBar>
        )}
        <LiveList
          query={query}
          count={rows.length}
          what="deliveries"
          none={<NoDeliveries webhook={webhook} narrowed={isNarrowed(filters)} home={home} />}
        >
          {filters.outcomes.some((outcome) => outcome === "exhausted" || outcome === "expired") ? (
            <p className={css.hint}>
              Nothing sends these again by itself. <Link href={`${home}/never-got${suffix}`}>Send them again</Link>
            </p>
          ) : null}
          <DeliveryTable
            rows={rows}
            list={query.isPlaceholderData ? "of before" : search}
            enabled={webhook.enabled}
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

function NoDeliveries({ webhook, narrowed, home }: { webhook: EndpointDetails; narrowed: boolean; home: string }) {
  if (narrowed) {
    return (
      <EmptyState
        icon="search"
        title="No delivery matches"
        action={<ButtonLink href={home}>Show all deliveries</ButtonLink>}
      >
        <p>Choose another outcome, event, status, id or period.</p>
      </EmptyState>
    );
  }
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
