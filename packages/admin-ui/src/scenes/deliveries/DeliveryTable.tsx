import type { DeliveryListItem } from "@herald/contracts";
import { memo, useEffect, useRef } from "react";
import { Link } from "wouter";
import { OutcomeBadge, Pips } from "../../common/display/Badge.tsx";
import { deliveryWords, ShortId } from "../../common/display/Code.tsx";
import display from "../../common/display/display.module.css";
import { Icon } from "../../common/display/Icon.tsx";
import { besideStatus, hasEnded, outcomeWords } from "../../common/display/status.ts";
import { announce } from "../../common/feedback/Notice.tsx";
import { duration } from "../../common/formats.ts";
import { LiveTable } from "../../common/page/LiveTable.tsx";
import { useSession } from "../../common/session.tsx";
import { useHoverOrFocus, useSteadyRows } from "../../common/steady.ts";
import { Countdown, Time } from "../../common/Time.tsx";
import css from "./deliveries.module.css";

interface Props {
  rows: readonly DeliveryListItem[];
  /** Names the list that the rows are of: another filter is another list. */
  list: string;
  /** The deliveries are of several webhooks. */
  ofAll?: boolean;
  hrefOf: (delivery: DeliveryListItem) => string;
}

/** New rows are added at the top, unless the pointer or the focus is in the table: then they wait behind a button. */
export function DeliveryTable({ rows: fresh, list, ofAll = false, hrefOf }: Props) {
  const hover = useHoverOrFocus();
  const { rows, waiting, release } = useSteadyRows(fresh, hover.isActive, list);
  useAnnounced(waiting);
  return (
    <LiveTable
      caption="Deliveries, newest first"
      columns={[
        ["Outcome", css.outcome],
        ["Event", css.event],
        ...(ofAll ? [["Webhook", css.webhook] as const] : []),
        ["Attempts", css.attempts],
        ["Latest response"],
        ["Took", css.number],
        ["When", css.whenColumn],
        ["Next attempt", css.next],
      ]}
      className={css.table}
      hover={hover}
      above={
        waiting > 0 ? (
          <div className={css.pillPlace}>
            <button type="button" className={css.pill} onClick={release}>
              <Icon name="retry" size={14} />
              {waiting === 1 ? "1 new delivery" : `${waiting} new deliveries`}
            </button>
          </div>
        ) : null
      }
    >
      {rows.map((delivery) => (
        <Row key={delivery.id} delivery={delivery} ofAll={ofAll} href={hrefOf(delivery)} />
      ))}
    </LiveTable>
  );
}

/** Says once that new rows wait, not with each further one. */
function useAnnounced(waiting: number): void {
  const said = useRef(false);
  useEffect(() => {
    if (waiting > 0 && !said.current) announce("New deliveries have come. A button above the table shows them.");
    said.current = waiting > 0;
  }, [waiting]);
}

const Row = memo(function Row({ delivery, ofAll, href }: { delivery: DeliveryListItem; ofAll: boolean; href: string }) {
  const { limits } = useSession();
  const { outcome, attemptCount, statusCode, errorSummary } = delivery;
  return (
    <tr className={display.row} data-hint-scope data-delivery={delivery.id}>
      <th scope="row">
        <Link href={href} className={display.rowLink} aria-label={nameOf(delivery, ofAll)}>
          <OutcomeBadge outcome={outcome} />
        </Link>
      </th>
      <td data-label="Event" className={css.what}>
        <span className={css.type}>{delivery.eventType}</span>
        <Of delivery={delivery} />
      </td>
      {ofAll ? (
        <td data-label="Webhook" className={css.to}>
          {delivery.endpointName}
        </td>
      ) : null}
      <td data-label="Attempts" className={css.tries}>
        <Pips
          count={attemptCount}
          limit={limits.maxAttempts}
          last={delivery.succeeded ? "succeeded" : "failed"}
          words={`${attemptCount} of ${limits.maxAttempts}`}
          caption
        />
      </td>
      <td data-label="Latest response" className={css.response}>
        {statusCode === null ? <span className={display.faint}>None yet</span> : <strong>{statusCode}</strong>}
        <span className={css.error}> {besideStatus(statusCode, errorSummary)}</span>
      </td>
      <td data-label="Took" data-none={delivery.durationMs === null || undefined} className={css.number}>
        {delivery.durationMs === null ? <span className={display.faint}>–</span> : duration(delivery.durationMs)}
      </td>
      <td data-label="When" className={css.at}>
        <Time iso={delivery.attemptedAtUtc ?? delivery.createdAtUtc} />
      </td>
      <td data-label="Next attempt" className={css.ahead} data-none={hasEnded(outcome) || undefined}>
        <NextAttempt delivery={delivery} />
      </td>
    </tr>
  );
});

/** Which one it is, in small: its entity and its event. */
function Of({ delivery: { id, businessEventId, entityId } }: { delivery: DeliveryListItem }) {
  if (businessEventId === undefined) {
    return (
      <span className={css.of}>
        <span className={css.manual}>manual</span> <ShortId id={id} />
      </span>
    );
  }
  return (
    <span className={css.of}>
      {entityId ? <ShortId id={entityId} /> : null}
      <span className={css.eventId}>
        {" "}
        event <ShortId id={businessEventId} />
      </span>
    </span>
  );
}

/** What tells the row from the others, read out. */
function nameOf(delivery: DeliveryListItem, ofAll: boolean): string {
  const words = `${outcomeWords[delivery.outcome]}, ${deliveryWords(delivery)}`;
  return ofAll ? `${words}, to ${delivery.endpointName}` : words;
}

export function NextAttempt({ delivery }: { delivery: DeliveryListItem }) {
  const { outcome, inFlight, nextAttemptAtUtc } = delivery;
  if (inFlight) return <span className={css.now}>Due now</span>;
  if (outcome === "parked") return <span data-hint="Its webhook is not active.">After a resume</span>;
  if (nextAttemptAtUtc) return <Countdown iso={nextAttemptAtUtc} />;
  return <span className={display.faint}>–</span>;
}
