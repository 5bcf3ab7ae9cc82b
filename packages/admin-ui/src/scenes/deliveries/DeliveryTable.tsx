import type { DeliveryListItem } from "@herald/contracts";
import { memo, useEffect, useRef } from "react";
import { Link } from "wouter";
import { classNames } from "../../common/class-names.ts";
import { OutcomeBadge, Pips } from "../../common/display/Badge.tsx";
import { deliveryWords, ShortId } from "../../common/display/Code.tsx";
import { Icon } from "../../common/display/Icon.tsx";
import { besideStatus, nextAttemptWords, outcomeWords } from "../../common/display/status.ts";
import { announce } from "../../common/feedback/Notice.tsx";
import { duration, formats } from "../../common/formats.ts";
import { LiveTable } from "../../common/page/LiveTable.tsx";
import { useSession } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { useHoverOrFocus, useSteadyRows } from "../../common/steady.ts";
import { Time, useTicking } from "../../common/Time.tsx";
import css from "./deliveries.module.css";

interface Props {
  rows: readonly DeliveryListItem[];
  /** Names the list that the rows are of: another filter is another list. */
  list: string;
  ofAll?: boolean;
  hrefOf: (delivery: DeliveryListItem) => string;
  nextTryOf: (delivery: DeliveryListItem) => string | null;
}

/** New rows are added at the top, unless the pointer or the focus is in the table: then they wait behind a button. */
export function DeliveryTable({ rows: fresh, list, ofAll = false, hrefOf, nextTryOf }: Props) {
  const hover = useHoverOrFocus();
  const { rows, waiting, release } = useSteadyRows(fresh, hover.isActive, list);
  useAnnounced(waiting);
  return (
    <LiveTable
      caption="Deliveries, newest first"
      columns={[
        ["Outcome", "9.5rem"],
        // Narrow in a window of less than 75rem, where what is wide is not shown.
        ["Event", "clamp(12.5rem, (100vw - 75rem) * 99, 18rem)"],
        ...(ofAll ? [["Webhook", "11rem"] as const] : []),
        ["Attempts", "9rem"],
        ["Latest response"],
        ["Took", "5.5rem", "wide"],
        ["When", "8rem"],
        ["Next attempt", "8rem", "wide"],
      ]}
      className={classNames(shared.lines, css.deliveries)}
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
        <Row
          key={delivery.id}
          delivery={delivery}
          ofAll={ofAll}
          href={hrefOf(delivery)}
          nextTry={nextTryOf(delivery)}
        />
      ))}
    </LiveTable>
  );
}

/** Says once that new rows wait, and not again for each further one. */
function useAnnounced(waiting: number): void {
  const said = useRef(false);
  useEffect(() => {
    if (waiting > 0 && !said.current) announce("New deliveries have come. A button above the table shows them.");
    said.current = waiting > 0;
  }, [waiting]);
}

interface RowProps {
  delivery: DeliveryListItem;
  ofAll: boolean;
  href: string;
  nextTry: string | null;
}

const Row = memo(function Row({ delivery, ofAll, href, nextTry }: RowProps) {
  const { limits } = useSession();
  const { outcome, attemptCount, statusCode, errorSummary } = delivery;
  return (
    <tr className={shared.tableRow} data-hint-scope data-delivery={delivery.id}>
      <th scope="row" className={css.outcome}>
        <Link href={href} className={shared.rowLink} aria-label={nameOf(delivery, ofAll)}>
          <OutcomeBadge outcome={outcome} attempts={attemptCount} />
        </Link>
      </th>
      <td className={css.what}>
        <span className={css.type}>{delivery.eventType}</span>
        <Of delivery={delivery} />
      </td>
      {ofAll ? <td className={classNames(shared.cut, shared.medium, css.to)}>{delivery.endpointName}</td> : null}
      <td className={css.attempts}>
        <Pips count={attemptCount} limit={limits.maxAttempts} last={delivery.succeeded ? "succeeded" : "failed"} />
      </td>
      <td className={classNames(shared.cut, css.response)}>
        {statusCode === null ? <span className={shared.faint}>None yet</span> : <strong>{statusCode}</strong>}
        <span className={classNames(shared.soft, shared.wide)}> {besideStatus(statusCode, errorSummary)}</span>
      </td>
      <td className={classNames(shared.numbers, shared.wide)}>
        {delivery.durationMs === null ? <span className={shared.faint}>–</span> : duration(delivery.durationMs)}
      </td>
      <td>
        <Time iso={timeOf(delivery.id)} />
      </td>
      <td className={shared.wide}>
        <NextAttempt delivery={delivery} nextTry={nextTry} />
      </td>
    </tr>
  );
});

/** The time in a delivery's id, by which the list is sorted: the event's; a manual delivery's own. */
function timeOf(id: string): string {
  return new Date(Number.parseInt(id.replace("-", "").slice(0, 12), 16)).toISOString();
}

function Of({ delivery: { id, businessEventId, entityId } }: { delivery: DeliveryListItem }) {
  if (businessEventId === undefined) {
    return (
      <span className={classNames(shared.note, css.of)}>
        <span className={classNames(shared.boxed, css.manual)}>manual</span> <ShortId id={id} />
      </span>
    );
  }
  return (
    <span className={classNames(shared.note, css.of)}>
      {entityId ? <ShortId id={entityId} /> : null}
      <span className={shared.wide}>
        {" "}
        event <ShortId id={businessEventId} />
      </span>
    </span>
  );
}

function nameOf(delivery: DeliveryListItem, ofAll: boolean): string {
  const words = `${outcomeWords[delivery.outcome]}, ${deliveryWords(delivery)}`;
  return ofAll ? `${words}, to ${delivery.endpointName}` : words;
}

export function NextAttempt({ delivery, nextTry }: { delivery: DeliveryListItem; nextTry: string | null }) {
  const words = useTicking((now) => nextAttemptWords(delivery, nextTry, now) ?? "");
  if (words === "") return <span className={shared.faint}>–</span>;
  const { nextAttemptAtUtc } = delivery;
  return <span data-hint={nextAttemptAtUtc ? formats.dateTime(nextAttemptAtUtc) : undefined}>{words}</span>;
}
