import { UNDELIVERED_CAUSES } from "@herald/contracts";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { Link, useSearch } from "wouter";
import { filtersFromSearch, isNarrowed } from "../../api/delivery-filters.ts";
import { eventsQuery } from "../../api/queries.ts";
import { OutcomeBadge } from "../../common/display/Badge.tsx";
import display from "../../common/display/display.module.css";
import { ShortId, shortIdWords } from "../../common/display/ShortId.tsx";
import table from "../../common/display/table.module.css";
import { EmptyState } from "../../common/feedback/EmptyState.tsx";
import { ButtonLink } from "../../common/form/Button.tsx";
import { LiveList } from "../../common/page/LiveList.tsx";
import { PageHead } from "../../common/page/PageHead.tsx";
import { Panel, Stack } from "../../common/page/Panel.tsx";
import { Sections } from "../../common/page/Tabs.tsx";
import { product } from "../../common/product.ts";
import { useHoverOrFocus, useSteadyPlace } from "../../common/steady/hover-or-focus.ts";
import { Time } from "../../common/time/Time.tsx";
import { DeliveryFilterBar } from "../deliveries/DeliveryFilterBar.tsx";
import css from "./Events.module.css";
import { type EventRow, eventRows, fateWords } from "./event-rows.ts";

const HOME = "/events";

/** The organization's events, newest first, with those that were not taken among them. */
export default function Events() {
  const search = useSearch();
  const filters = useMemo(
    () => ({ ...filtersFromSearch(new URLSearchParams(search)), outcomes: [], webhook: null, status: null }),
    [search],
  );
  const query = useInfiniteQuery(eventsQuery(filters));
  const rows = useMemo(() => eventRows(query.data?.pages ?? []), [query.data]);
  return (
    <>
      <PageHead title="Events">
        <p>What your organization's services told {product.name}, newest first, and what became of it.</p>
      </PageHead>
      <Stack>
        <Sections />
        <Panel>
          <DeliveryFilterBar filters={filters} home={HOME} fields={["id"]} />
          <LiveList query={query} count={rows.length} what="events" none={<None narrowed={isNarrowed(filters)} />}>
            <Table rows={rows} />
          </LiveList>
        </Panel>
      </Stack>
    </>
  );
}

/** Rows keep their place under the pointer and the focus. */
function Table({ rows }: { rows: readonly EventRow[] }) {
  const { isActive, pointer, focus } = useHoverOrFocus();
  const place = useRef<HTMLTableElement>(null);
  useSteadyPlace(place, isActive);
  return (
    <table ref={place} className={`${table.table} ${css.table}`}>
      <caption className={display.unseen}>Events, newest first</caption>
      <thead>
        <tr>
          <th scope="col">Event</th>
          <th scope="col">Entity</th>
          <th scope="col">Event id</th>
          <th scope="col">Deliveries</th>
          <th scope="col">When</th>
        </tr>
      </thead>
      <tbody {...pointer} {...focus}>
        {rows.map((row) =>
          row.kind === "taken" ? <Taken key={row.key} row={row} /> : <NotTaken key={row.key} row={row} />,
        )}
      </tbody>
    </table>
  );
}

function Taken({ row: { event, at } }: { row: Extract<EventRow, { kind: "taken" }> }) {
  const { key, id, type, entityId, entityType } = event;
  const entity = `${entityType ?? "entity"} ${shortIdWords(entityId)}`;
  return (
    <tr className={table.row} data-hint-scope data-event={id}>
      <th scope="row" className={css.type}>
        <Link
          href={`/events/${key}`}
          className={table.rowLink}
          aria-label={`${type}, ${entity}, event ${shortIdWords(id)}`}
        >
          {type}
        </Link>
      </th>
      <td className={css.id}>
        <ShortId id={entityId} />
      </td>
      <td className={css.eventId}>
        <ShortId id={id} />
      </td>
      <td className={css.fate}>{fateWords(event)}</td>
      <td className={css.when}>
        <Time iso={at} />
      </td>
    </tr>
  );
}

function NotTaken({ row: { event, at } }: { row: Extract<EventRow, { kind: "not taken" }> }) {
  const { id, type, cause } = event;
  const name = type ?? "An event";
  return (
    <tr className={table.row} data-hint-scope data-event={id}>
      <th scope="row" className={css.type}>
        <Link
          href={`/search?q=${id}`}
          className={table.rowLink}
          aria-label={`${name}, delivered to nobody, event ${shortIdWords(id)}`}
        >
          {name}
        </Link>
      </th>
      <td className={css.id}>
        <span className={table.faint}>–</span>
      </td>
      <td className={css.eventId}>
        <ShortId id={id} />
      </td>
      <td className={css.fate} data-hint={UNDELIVERED_CAUSES[cause]}>
        <OutcomeBadge outcome="expired" words="Not taken" />
      </td>
      <td className={css.when}>
        <Time iso={at} />
      </td>
    </tr>
  );
}

function None({ narrowed }: { narrowed: boolean }) {
  if (!narrowed) {
    return (
      <EmptyState icon="clock" title="No events yet">
        <p>They appear here by themselves when they happen.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState icon="search" title="No event matches" action={<ButtonLink href={HOME}>Show all events</ButtonLink>}>
      <p>Choose another event, id or period.</p>
    </EmptyState>
  );
}
