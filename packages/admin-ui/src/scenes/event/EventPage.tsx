import type { EventDetails } from "@herald/contracts";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { eventQuery } from "../../api/queries.ts";
import { Code } from "../../common/display/Code.tsx";
import { Copy } from "../../common/display/Copy.tsx";
import { Facts } from "../../common/display/Facts.tsx";
import { LoadError } from "../../common/feedback/LoadError.tsx";
import { Skeleton } from "../../common/feedback/Skeleton.tsx";
import { PageHead } from "../../common/page/PageHead.tsx";
import { Panel, Stack } from "../../common/page/Panel.tsx";
import { Moment, Time } from "../../common/time/Time.tsx";
import { DeliveryResults } from "./DeliveryResults.tsx";
import css from "./event.module.css";

/** One business event: what it was, what became of it at each webhook, and the body that receivers get. */
export default function EventPage({ id }: { id: string }) {
  const { data: event, error } = useQuery(eventQuery(id));
  if (!event) return error ? <LoadError error={error} what="the event" /> : <Skeleton rows={8} what="the event" />;
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

function factsOf(event: EventDetails): [string, ReactNode][] {
  const facts: [string, ReactNode][] = [
    ["Event id", <Id key="id" id={event.id} what="event id" />],
    [
      event.entityType ?? "Entity",
      <span key="entity">
        <Id id={event.entityId} what="entity id" />{" "}
        <Link className={css.all} href={`/search?q=${event.entityId}`}>
          All its events
        </Link>
      </span>,
    ],
    ["Occurred", <Moment key="occurred" iso={event.occurredAtUtc} milliseconds />],
    ["Stored", <Moment key="stored" iso={event.receivedAtUtc} milliseconds />],
  ];
  // W3C trace context: version, trace id, parent id, flags.
  const traceId = event.traceparent?.split("-")[1];
  if (traceId) facts.push(["Trace id", <Id key="trace" id={traceId} what="trace id" />]);
  return facts;
}

function Id({ id, what }: { id: string; what: string }) {
  return (
    <span className={css.id}>
      <code>{id}</code>
      <Copy text={id} what={what} small />
    </span>
  );
}
