import { type EventListItem, ID_PREFIX, isUuid, UNDELIVERED_CAUSES, type UndeliveredEvent } from "@herald/contracts";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "wouter";
import { eventsQuery, overviewQuery, searchQuery } from "../../api/queries.ts";
import { EmptyState, NotLoaded } from "../../common/feedback/LoadError.tsx";
import { ButtonLink } from "../../common/form/Button.tsx";
import { NextPage } from "../../common/page/LiveList.tsx";
import { PageHead, Panel } from "../../common/page/Page.tsx";
import { product } from "../../common/product.ts";
import shared from "../../common/shared.module.css";
import { Time } from "../../common/Time.tsx";
import { withText } from "../webhook/WebhookList.tsx";
import { DeliveryResults } from "./EventPage.tsx";

/** Finds by id, name or URL. The words are in the page's address, so that a search can be shared. */
export default function Search() {
  const [search] = useSearchParams();
  const sought = search.get("q")?.trim() ?? "";
  return (
    <>
      <PageHead title="Search">
        <p>
          Type the id of an event, an entity or a delivery to see what became of it at each webhook. Of an event's or an
          entity's id the first eight digits are enough. Type a part of a name or URL to find webhooks.
        </p>
      </PageHead>
      <div className={shared.stack}>
        {isUuid(sought) ? (
          <ById key={sought} id={sought.toLowerCase()} />
        ) : ID_PREFIX.test(sought) ? (
          <ByPrefix key={sought} prefix={sought} />
        ) : (
          <ByText text={sought} />
        )}
      </div>
    </>
  );
}

function Loading({ error, what }: { error: unknown; what: string }) {
  return (
    <Panel>
      <NotLoaded error={error} what={what} />
    </Panel>
  );
}

function ByText({ text }: { text: string }) {
  const { data, error } = useQuery(overviewQuery);
  if (!data) return <Loading error={error} what="the webhooks" />;
  const found = withText(data, text);
  if (found.length > 0) return <Webhooks found={found} />;
  const id = idIn(text);
  return id ? <ById key={id} id={id} /> : <Nothing />;
}

/** The id in a text that was copied with more than it: quotes, the name of a header, a page's address; hyphens may be missing or others. */
function idIn(text: string): string | undefined {
  const digits = /[0-9a-f]{8}(?:[-\u2010-\u2015]?[0-9a-f]{4}){4}[0-9a-f]{8}/i
    .exec(text)?.[0]
    .replaceAll(/[^0-9a-f]/gi, "");
  return digits?.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function Webhooks({ found }: { found: readonly { id: string; name: string; url: string }[] }) {
  return (
    <Panel title={found.length === 1 ? "One webhook" : `${found.length} webhooks`} padded>
      <ul className={shared.column}>
        {found.map(({ id, name, url }) => (
          <li key={id}>
            <Link href={`/webhooks/${id}`}>{name}</Link> <code className={shared.note}>{url}</code>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Some digits may begin an id, or be a part of a webhook's URL. */
function ByPrefix({ prefix }: { prefix: string }) {
  const query = useInfiniteQuery(eventsQuery({ id: [prefix] }));
  const events = query.data?.pages.flatMap((page) => page.events) ?? [];
  const undelivered = query.data?.pages.flatMap((page) => page.undelivered) ?? [];
  if (events.length === 0 && undelivered.length === 0) {
    if (query.data && !query.hasNextPage) return <ByText text={prefix} />;
    return <Loading error={query.error} what="the results" />;
  }
  return (
    <>
      <FoundEvents events={events} undelivered={undelivered} />
      <NextPage query={query} count={events.length} what="events" />
    </>
  );
}

function ById({ id }: { id: string }) {
  const query = useInfiniteQuery(searchQuery(id));
  const { data: webhooks } = useQuery(overviewQuery);
  if (!query.data) return <Loading error={query.error} what="the results" />;
  const events = query.data.pages.flatMap((page) => page.events);
  const manual = query.data.pages[0]?.manualDelivery ?? null;
  const webhook = webhooks?.filter((each) => each.id === id) ?? [];
  const undelivered = query.data.pages[0]?.undelivered ?? [];
  if ([events, webhook, undelivered].every((found) => found.length === 0) && manual === null) return <Nothing isId />;
  return (
    <>
      {webhook.length > 0 ? <Webhooks found={webhook} /> : null}
      {manual ? (
        <Panel title="A manual delivery, without an event" padded>
          <DeliveryResults results={[manual]} />
        </Panel>
      ) : null}
      <FoundEvents events={events} undelivered={undelivered} />
      {events.length > 0 ? <NextPage query={query} count={events.length} what="events" /> : null}
    </>
  );
}

interface Found {
  events: readonly EventListItem[];
  undelivered: readonly UndeliveredEvent[];
}

function FoundEvents({ events, undelivered }: Found) {
  return (
    <>
      {undelivered.map((event) => (
        <Undelivered key={`${event.id} ${event.cause}`} event={event} />
      ))}
      {events.map((event) => (
        <FoundEvent key={event.key} event={event} />
      ))}
    </>
  );
}

function Undelivered({ event: { type, cause, reason, cameAtUtc } }: { event: UndeliveredEvent }) {
  return (
    <Panel
      title={`${type ?? "An event"}, delivered to no webhook`}
      aside={
        <span className={shared.softSmall}>
          came <Time iso={cameAtUtc} />
        </span>
      }
      padded
    >
      <p>{UNDELIVERED_CAUSES[cause]}</p>
      {cause === "rejected" ? (
        <p>
          Reason: <code>{reason}</code>
        </p>
      ) : null}
    </Panel>
  );
}

function FoundEvent({ event }: { event: EventListItem }) {
  return (
    <Panel
      title={event.type}
      aside={
        <span className={shared.softSmall}>
          <Time iso={event.occurredAtUtc} />, <Link href={`/events/${event.key}`}>event with its body</Link>
        </span>
      }
      padded
    >
      <DeliveryResults results={event.endpoints} />
    </Panel>
  );
}

function Nothing({ isId = false }: { isId?: boolean }) {
  return (
    <Panel>
      <EmptyState icon="search" title="Nothing was found" action={<ButtonLink href="/">All webhooks</ButtonLink>}>
        {isId ? (
          <p>
            No event, entity, delivery or webhook of your organization has this id. Events are found as long as they are
            kept; by its id, one that {product.name} did not take too, for seven days. So either it was emitted for
            another organization or with another id, or it did not come.
          </p>
        ) : (
          <p>
            No webhook has this in its name or URL. Events and entities are found by the first eight digits of their id,
            deliveries by their whole id.
          </p>
        )}
      </EmptyState>
    </Panel>
  );
}
