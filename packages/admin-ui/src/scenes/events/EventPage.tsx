import type { EndpointDelivery, EventDetails } from "@herald/contracts";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { eventQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { OutcomeBadge } from "../../common/display/Badge.tsx";
import { Code, CopiedId } from "../../common/display/Code.tsx";
import { besideStatus } from "../../common/display/status.ts";
import { NotLoaded } from "../../common/feedback/LoadError.tsx";
import { Facts, PageHead, Panel, Stack } from "../../common/page/Page.tsx";
import shared from "../../common/shared.module.css";
import { Moment, Time } from "../../common/Time.tsx";
import css from "./events.module.css";
import { reasonWords } from "./words.ts";

/** One business event: its facts, its deliveries, and the body that receivers get. */
export default function EventPage({ id }: { id: string }) {
  const { data: event, error } = useQuery(eventQuery(id));
  if (!event) return <NotLoaded error={error} what="the event" rows={8} level={1} />;
  return (
    <>
      <PageHead title={event.type}>
        <p>
          A business event of your organization, <Time iso={event.occurredAtUtc} />.
        </p>
      </PageHead>
      <Stack>
        <Panel title="Event" padded>
          <Facts facts={factsOf(event)} />
        </Panel>
        <Panel title="What became of it at each webhook" padded>
          <DeliveryResults results={event.endpoints} />
        </Panel>
        <Panel title="Body, as receivers get it" padded>
          <Code what="body" text={event.body} tall />
        </Panel>
      </Stack>
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

/** An event at each webhook: its delivery, or why it has none. */
export function DeliveryResults({ results }: { results: readonly EndpointDelivery[] }) {
  if (results.length === 0) return <p className={shared.soft}>Your organization has no webhook.</p>;
  return (
    <ul className={shared.ruled}>
      {results.map((result) => (
        <li key={result.endpointId} className={css.result}>
          <Result result={result} />
        </li>
      ))}
    </ul>
  );
}

function Result({ result: { endpointId, endpointName, delivery, reason } }: { result: EndpointDelivery }) {
  if (delivery) {
    const { statusCode, errorSummary } = delivery;
    return (
      <>
        <Link href={`/webhooks/${endpointId}/deliveries/${delivery.id}`}>{endpointName}</Link>
        <OutcomeBadge outcome={delivery.outcome} />
        <span className={classNames(shared.soft, css.sentence)}>
          {statusCode === null
            ? "No attempt has been made yet"
            : `${statusCode} ${besideStatus(statusCode, errorSummary)}`.trim()}
          {delivery.attemptedAtUtc ? (
            <>
              , <Time iso={delivery.attemptedAtUtc} />
            </>
          ) : null}
        </span>
      </>
    );
  }
  const words = reason && reasonWords(reason);
  return (
    <>
      <Link href={`/webhooks/${endpointId}`}>{endpointName}</Link>
      <strong className={shared.strong}>{words?.short}</strong>
      <span className={classNames(shared.soft, css.sentence)}>{words?.sentence}</span>
    </>
  );
}
