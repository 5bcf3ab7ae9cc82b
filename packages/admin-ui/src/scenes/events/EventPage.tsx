import { type DeliveryListItem, type EndpointDelivery, type EventDetails, isUuid } from "@herald/contracts";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, Redirect } from "wouter";
import { ApiProblem } from "../../api/client.ts";
import { eventQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { OutcomeBadge } from "../../common/display/Badge.tsx";
import { Body } from "../../common/display/Body.tsx";
import { CopiedId } from "../../common/display/Code.tsx";
import { besideStatus } from "../../common/display/status.ts";
import { NotLoaded } from "../../common/feedback/LoadError.tsx";
import { Facts, PageHead, Panel } from "../../common/page/Page.tsx";
import shared from "../../common/shared.module.css";
import { Moment, Time } from "../../common/Time.tsx";
import css from "./events.module.css";
import { reasonWords } from "./words.ts";

export default function EventPage({ id }: { id: string }) {
  const { data: event, error } = useQuery(eventQuery(id));
  // People know ids, not keys. The search finds those of deliveries and entities too, and says why an event was not taken.
  if (error instanceof ApiProblem && error.status === 404 && isUuid(id))
    return <Redirect to={`/search?q=${id}`} replace />;
  if (!event) return <NotLoaded error={error} what="the event" level={1} />;
  return (
    <>
      <PageHead title={event.type}>
        <p>
          A business event of your organization, <Time iso={event.occurredAtUtc} />.
        </p>
      </PageHead>
      <div className={shared.stack}>
        <Panel title="Event" padded>
          <Facts facts={factsOf(event)} />
        </Panel>
        <Panel title="What became of it at each webhook" padded>
          <DeliveryResults results={event.endpoints} />
        </Panel>
        <Panel title="Body, as receivers get it" padded>
          <Body text={event.body} />
        </Panel>
      </div>
    </>
  );
}

function factsOf(event: EventDetails): Record<string, ReactNode> {
  // W3C trace context: version, trace id, parent id, flags.
  const traceId = event.traceparent?.split("-")[1];
  return {
    "Event id": <CopiedId id={event.id} what="event id" />,
    [event.entityType ?? "Entity"]: (
      <>
        <CopiedId id={event.entityId} what="entity id" />{" "}
        <Link className={shared.numbers} href={`/search?q=${event.entityId}`}>
          All its events
        </Link>
      </>
    ),
    Occurred: <Moment iso={event.occurredAtUtc} milliseconds />,
    Stored: <Moment iso={event.receivedAtUtc} milliseconds />,
    "Trace id": traceId ? <CopiedId id={traceId} what="trace id" /> : null,
  };
}

/** An event at each webhook: its delivery, or why it has none. Webhooks without one for the same reason share a line. */
export function DeliveryResults({ results }: { results: readonly EndpointDelivery[] }) {
  if (results.length === 0) return <p className={shared.soft}>Your organization has no webhook.</p>;
  const withoutOne = Map.groupBy(
    results.filter(({ delivery }) => delivery === null),
    ({ reason }) => reason,
  );
  return (
    <ul className={shared.ruled}>
      {results.map(({ endpointId, endpointName, delivery }) =>
        delivery ? (
          <li key={endpointId} className={css.result}>
            <Link href={`/webhooks/${endpointId}/deliveries/${delivery.id}`}>{endpointName}</Link>
            <Result delivery={delivery} />
          </li>
        ) : null,
      )}
      {[...withoutOne].map(([reason, webhooks]) => (
        <li key={reason} className={css.result}>
          <span className={shared.row}>
            {webhooks.map(({ endpointId, endpointName }) => (
              <Link key={endpointId} href={`/webhooks/${endpointId}`}>
                {endpointName}
              </Link>
            ))}
          </span>
          <strong className={shared.strong}>{reason && reasonWords(reason).short}</strong>
          <span className={classNames(shared.soft, css.sentence)}>{reason && reasonWords(reason).sentence}</span>
        </li>
      ))}
    </ul>
  );
}

function Result({ delivery }: { delivery: DeliveryListItem }) {
  const { outcome, statusCode, errorSummary, attemptedAtUtc } = delivery;
  return (
    <>
      <OutcomeBadge outcome={outcome} attempts={attemptedAtUtc === null ? 0 : 1} />
      <span className={classNames(shared.soft, css.sentence)}>
        {statusCode === null
          ? "No attempt has been made yet"
          : `${statusCode} ${besideStatus(statusCode, errorSummary)}`.trim()}
        {attemptedAtUtc ? (
          <>
            , <Time iso={attemptedAtUtc} />
          </>
        ) : null}
      </span>
    </>
  );
}
