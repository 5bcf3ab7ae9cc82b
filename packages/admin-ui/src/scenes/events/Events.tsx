import { type EventListItem, UNDELIVERED_CAUSES } from "@herald/contracts";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "wouter";
import { eventsQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { OutcomeBadge } from "../../common/display/Badge.tsx";
import { ShortId, shortIdWords } from "../../common/display/Code.tsx";
import { outcomeWords } from "../../common/display/status.ts";
import { EmptyState } from "../../common/feedback/LoadError.tsx";
import { formats } from "../../common/formats.ts";
import { FilteredList, useFilters } from "../../common/page/LiveList.tsx";
import { LiveTable } from "../../common/page/LiveTable.tsx";
import { OrganizationPage, Panel } from "../../common/page/Page.tsx";
import { product } from "../../common/product.ts";
import shared from "../../common/shared.module.css";
import { useHoverOrFocus } from "../../common/steady.ts";
import { Time } from "../../common/Time.tsx";
import css from "./events.module.css";
import { type EventRow, eventRows, fates } from "./words.ts";

export default function Events() {
  const filters = useFilters("events");
  const query = useInfiniteQuery(eventsQuery(filters));
  const rows = useMemo(() => eventRows(query.data?.pages ?? []), [query.data]);
  const hover = useHoverOrFocus();
  return (
    <OrganizationPage
      title="Events"
      words={`The events that your organization's services sent to ${product.name}, newest first, and their deliveries.`}
    >
      <Panel>
        <FilteredList
          list="events"
          filters={filters}
          home="/events"
          query={query}
          count={rows.length}
          what="events"
          none={
            <EmptyState icon="clock" title="No events yet">
              <p>They appear here by themselves when they happen.</p>
            </EmptyState>
          }
        >
          <LiveTable
            caption="Events, newest first"
            columns={[
              ["Event", "19rem"],
              ["Entity", "9rem"],
              ["Event id", "9rem", "wide"],
              ["Deliveries"],
              ["When", "9rem"],
            ]}
            className={shared.lines}
            hover={hover}
          >
            {rows.map((row) => (
              <Row key={row.key} row={row} />
            ))}
          </LiveTable>
        </FilteredList>
      </Panel>
    </OrganizationPage>
  );
}

function Row({ row: { taken, notTaken, at } }: { row: EventRow }) {
  const id = shortIdWords((taken ?? notTaken).id);
  const name = taken?.type ?? notTaken?.type ?? "An event";
  const about = taken ? `${taken.entityType ?? "entity"} ${shortIdWords(taken.entityId)}` : "delivered to no webhook";
  return (
    <tr className={shared.tableRow} data-hint-scope data-event={(taken ?? notTaken).id}>
      <th scope="row" className={classNames(shared.cut, css.type)}>
        <Link
          href={taken ? `/events/${taken.key}` : `/search?q=${notTaken.id}`}
          className={shared.rowLink}
          aria-label={`${name}, ${about}, event ${id}`}
        >
          {name}
        </Link>
      </th>
      <td className={css.entityId}>
        {taken ? <ShortId id={taken.entityId} /> : <span className={shared.faint}>–</span>}
      </td>
      <td className={shared.wide}>
        <ShortId id={(taken ?? notTaken).id} />
      </td>
      <td
        className={classNames(shared.soft, shared.cut, css.fate)}
        data-hint={notTaken ? UNDELIVERED_CAUSES[notTaken.cause] : undefined}
      >
        {taken ? <Fates event={taken} /> : <OutcomeBadge outcome="expired" words="Not taken" />}
      </td>
      <td>
        <Time iso={at} />
      </td>
    </tr>
  );
}

/** An event's deliveries, counted by outcome. On a phone the icons stand for the words. */
function Fates({ event }: { event: EventListItem }) {
  const counts = fates(event);
  if (counts.length === 0) return "No delivery";
  return (
    <span className={css.fates}>
      {counts.map(({ outcome, count, attempts }) => (
        <OutcomeBadge
          key={outcome}
          outcome={outcome}
          attempts={attempts}
          words={
            <span>
              {formats.number(count)} <span className={css.outcome}>{outcomeWords[outcome].toLowerCase()}</span>
            </span>
          }
        />
      ))}
    </span>
  );
}
