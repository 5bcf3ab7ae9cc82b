import type { DeliveryPage, EndpointDetails } from "@herald/contracts";
import { type InfiniteData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useLocation, useSearch } from "wouter";
import { deliveriesQuery, overviewQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { nextTryOf } from "../../common/display/status.ts";
import { EmptyState } from "../../common/feedback/LoadError.tsx";
import { ButtonLink } from "../../common/form/Button.tsx";
import { FilteredList, useFilters } from "../../common/page/LiveList.tsx";
import { OrganizationPage, Panel } from "../../common/page/Page.tsx";
import shared from "../../common/shared.module.css";
import { DeliveryDrawer } from "./DeliveryDrawer.tsx";
import { DeliveryTable } from "./DeliveryTable.tsx";
import { Rates } from "./Rates.tsx";

const rowsOf = (data: InfiniteData<DeliveryPage> | undefined) => data?.pages.flatMap((page) => page.deliveries) ?? [];

export function Deliveries({ webhook, openDelivery }: { webhook: EndpointDetails; openDelivery: string | undefined }) {
  const search = useSearch();
  const [, go] = useLocation();
  const filters = useFilters("webhook");
  const query = useInfiniteQuery(deliveriesQuery(webhook.id, filters));
  const rows = rowsOf(query.data);
  const home = `/webhooks/${webhook.id}`;
  const suffix = search ? `?${search}` : "";
  const isGivenUp = filters.outcome?.some((outcome) => outcome === "exhausted" || outcome === "expired");
  return (
    <>
      {webhook.lastDelivery ? <Rates id={webhook.id} /> : null}
      <Panel title="Deliveries">
        <FilteredList
          list="webhook"
          filters={filters}
          subscribed={webhook.events}
          home={home}
          query={query}
          count={rows.length}
          what="deliveries"
          none={<NoneYet webhook={webhook} home={home} />}
        >
          {isGivenUp ? (
            <p className={classNames(shared.strip, shared.softSmall)}>
              Nothing sends these again by itself. <Link href={`${home}/never-got${suffix}`}>Send them again</Link>
            </p>
          ) : null}
          <DeliveryTable
            rows={rows}
            list={query.isPlaceholderData ? "of before" : search}
            hrefOf={({ id }) => `${home}/deliveries/${id}${suffix}`}
            nextTryOf={() => nextTryOf(webhook)}
          />
        </FilteredList>
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

export default function AllDeliveries() {
  const search = useSearch();
  const filters = useFilters("deliveries");
  const query = useInfiniteQuery(deliveriesQuery(null, filters));
  const rows = rowsOf(query.data);
  const { data: webhooks = [] } = useQuery(overviewQuery);
  const nextTries = new Map(webhooks.map((webhook) => [webhook.id, nextTryOf(webhook)]));
  return (
    <OrganizationPage title="Deliveries" words="What went to all webhooks, newest event first.">
      <Panel>
        <FilteredList
          list="deliveries"
          filters={filters}
          home="/deliveries"
          query={query}
          count={rows.length}
          what="deliveries"
          none={
            <EmptyState icon="clock" title="No deliveries yet">
              <p>They appear here by themselves when an event happens that a webhook is subscribed to.</p>
            </EmptyState>
          }
        >
          <DeliveryTable
            rows={rows}
            list={query.isPlaceholderData ? "of before" : search}
            ofAll
            hrefOf={({ id, endpointId }) => `/webhooks/${endpointId}/deliveries/${id}`}
            nextTryOf={({ endpointId }) => nextTries.get(endpointId) ?? null}
          />
        </FilteredList>
      </Panel>
    </OrganizationPage>
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
