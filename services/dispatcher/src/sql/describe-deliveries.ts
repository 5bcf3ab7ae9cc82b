import { firstIdAt, lastIdAt, timeOf } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";

/** A row of `due`: an unfinished delivery, by its place in the order of its endpoint. */
export interface DueRow {
  endpointId: string;
  dueAt: Date;
  deliveryId: string;
  /** Attempts that have ended. */
  attempts: number;
  /** How often its owner died when the delivery may have been in flight. They do not count as attempts. */
  interruptions: number;
}

/** An unfinished delivery in its owner's memory, with all that one attempt needs but its endpoint's configuration. */
export interface Delivery extends DueRow {
  organizationId: string;
  eventType: string;
  /** The request body, byte for byte; null where it is large: it is read when the delivery's turn comes. */
  body: Body | null;
  /** The body's length in UTF-8. */
  bodyBytes: number;
  /** The event whose body it is; null for a manual delivery, which has its own. */
  eventKey: string | null;
  /** The trace context of the event, or of the request for a manual delivery; null where there is none. */
  traceparent: string | null;
  createdAt: Date;
  /** Where its event has only arrived: PostgreSQL may not have it yet. */
  arrived?: Arrived | undefined;
}

/** What holds for a delivery that was handed over when its event arrived. */
export interface Arrived {
  /** The only revision of its endpoint by which it may be attempted, as a decimal number. With another one, it may be none of the endpoint's. */
  revision: string;
}

/** A large one as its bytes, which are what is sent. */
export type Body = string | Buffer;

/** Bodies up to this length are read with their rows: most are, and a statement more would cost more than their memory. */
export const SMALL_BODY_BYTES = 8 * 1024;

type Row = Omit<Delivery, keyof DueRow> & { position: number; isPending: boolean };

/**
 * Reads what attempts of due rows need, in their order. This is a statement of its own, since their ids are known now: with the bounds
 * beside them, a cached plan leaves out all other days at its start. Else it would open every partition each time, which costs
 * more than the rest. `offset 0` keeps the planner from joining otherwise than row by row. The length of a large body is known without
 * reading it.
 *
 * Rows whose delivery has ended, or is gone, are deleted: a success may count that an earlier owner made, after the row was moved.
 *
 * Locks nothing else. Walks delivery_pkey and business_event_pkey.
 */
export async function describeDeliveries(queries: Queries, due: readonly DueRow[]): Promise<Delivery[]> {
  if (due.length === 0) return [];
  const ids = due.map(({ deliveryId }) => deliveryId);
  const sorted = [...ids].sort();
  const [first = "", last = ""] = [sorted[0], sorted.at(-1)];
  const rows = await queries.$queryRaw<Row[]>`
    select
      due.position::int as "position",
      coalesce(delivery.state = 'pending', false) as "isPending",
      delivery.organization_id as "organizationId",
      delivery.event_type as "eventType",
      case when octet_length(content.body) <= ${SMALL_BODY_BYTES} then content.body end as "body",
      coalesce(octet_length(content.body), 0) as "bodyBytes",
      delivery.event_key as "eventKey",
      event.traceparent as "traceparent",
      delivery.created_at as "createdAt"
    from unnest(${ids}::uuid[]) with ordinality as due (delivery_id, position)
    left join lateral (
      select * from delivery where id = due.delivery_id and id between ${first}::uuid and ${last}::uuid offset 0
    ) as delivery on true
    left join lateral (
      select body, traceparent from business_event
      where organization_id = delivery.organization_id and key = delivery.event_key
        and key between ${firstIdAt(timeOf(first))}::uuid and ${lastIdAt(timeOf(last))}::uuid
      offset 0
    ) as event on true
    cross join lateral (select coalesce(delivery.body, event.body) as body) as content
    order by due.position`;
  const ended = rows.filter(({ isPending }) => !isPending).map(({ position }) => due[position - 1] as DueRow);
  if (ended.length > 0) await forget(queries, ended);
  return rows
    .filter(({ isPending }) => isPending)
    .map(({ position, isPending, ...row }) => ({ ...(due[position - 1] as DueRow), ...row }));
}

/** Locks these rows of `due`. Walks due_pkey. */
async function forget(queries: Queries, due: readonly DueRow[]): Promise<void> {
  await queries.$executeRaw`
    delete from due
    using unnest(
      ${due.map((row) => row.endpointId)}::uuid[],
      ${due.map((row) => row.dueAt)}::timestamptz[],
      ${due.map((row) => row.deliveryId)}::uuid[]
    ) as ended (endpoint_id, due_at, delivery_id)
    where due.shard = shard_of(ended.endpoint_id) and due.endpoint_id = ended.endpoint_id
      and due.due_at = ended.due_at and due.delivery_id = ended.delivery_id`;
}

/** Where a body is stored: with its event, or in a manual delivery's own row. */
export interface BodySource {
  organizationId: string;
  eventKey: string | null;
  deliveryId: string;
}

/**
 * Reads bodies, in the order of their sources; undefined for one that is gone.
 *
 * Locks nothing. Walks business_event_pkey and delivery_pkey. The bounds let a cached plan leave out all other days at its start.
 */
export async function readBodies(queries: Queries, sources: readonly BodySource[]): Promise<(Buffer | undefined)[]> {
  const ids = sources.map(({ eventKey, deliveryId }) => eventKey ?? deliveryId).sort();
  const [first = "", last = ""] = [ids[0], ids.at(-1)];
  const rows = await queries.$queryRaw<{ position: number; body: string | null }[]>`
    select source.position::int as "position", coalesce(event.body, delivery.body) as "body"
    from unnest(
      ${sources.map((source) => source.organizationId)}::text[],
      ${sources.map((source) => source.eventKey)}::uuid[],
      ${sources.map((source) => source.deliveryId)}::uuid[]
    ) with ordinality as source (organization_id, event_key, delivery_id, position)
    left join lateral (
      select body from business_event
      where organization_id = source.organization_id and key = source.event_key
        and key between ${firstIdAt(timeOf(first))}::uuid and ${lastIdAt(timeOf(last))}::uuid
      offset 0
    ) as event on true
    left join lateral (
      select body from delivery
      where source.event_key is null and id = source.delivery_id and id between ${first}::uuid and ${last}::uuid
      offset 0
    ) as delivery on true`;
  const bodies = new Map(rows.map(({ position, body }) => [position, body]));
  return sources.map((_, index) => {
    const body = bodies.get(index + 1) ?? null;
    return body === null ? undefined : Buffer.from(body);
  });
}
