import { UNDELIVERED_CAUSES } from "@herald/contracts";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { Link, useSearch } from "wouter";
import { filtersFromSearch, isNarrowed } from "../../api/delivery-filters.ts";
import { eventsQuery } from "../../api/queries.ts";
import { OutcomeBadge } from "../../common/display/Badge.tsx";
import { ShortId, shortIdWords } from "../../common/display/Code.tsx";
import display from "../../common/display/display.module.css";
import { EmptyState } from "../../common/feedback/LoadError.tsx";
import { ButtonLink } from "../../common/form/Button.tsx";
import { LiveList } from "../../common/page/LiveList.tsx";
import { PageHead, Panel, Sections, Stack } from "../../common/page/Page.tsx";
import { product } from "../../common/product.ts";
import { useHoverOrFocus, useSteadyPlace } from "../../common/steady.ts";
import { Time } from "../../common/Time.tsx";
import { DeliveryFilterBar } from "../deliveries/DeliveryFilterBar.tsx";
import css from "./events.module.css";
import { type EventRow, eventRows, fateWords } from "./words.ts";

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
    <table ref={place} className={`${display.table} ${css.table}`}>
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
    <tr className={display.row} data-hint-scope data-event={id}>
      <th scope="row" className={css.eventType}>
        <Link
          href={`/events/${key}`}
          className={display.rowLink}
          aria-label={`${type}, ${entity}, event ${shortIdWords(id)}`}
        >
          {type}
        </Link>
      </th>
      <td className={css.entityId}>
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
    <tr className={display.row} data-hint-scope data-event={id}>
      <th scope="row" className={css.eventType}>
        <Link
          href={`/search?q=${id}`}
          className={display.rowLink}
          aria-label={`${name}, delivered to nobody, event ${shortIdWords(id)}`}
        >
          {name}
        </Link>
      </th>
      <td className={css.entityId}>
        <span className={display.faint}>–</span>
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
