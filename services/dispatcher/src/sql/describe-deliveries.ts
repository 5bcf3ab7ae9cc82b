import { firstIdAt, lastIdAt, timeOf } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";

/** A row of `due`: an unfinished delivery, with its place in the order of its endpoint. */
export interface DueRow {
  endpointId: string;
  dueAt: Date;
  deliveryId: string;
  /** Attempts that have ended. */
  attempts: number;
  /** How often its owner died while the delivery may have been in flight. These do not count as attempts. */
  interruptions: number;
}

/** An unfinished delivery in its owner's memory, with everything that an attempt needs except the endpoint's configuration. */
export interface Delivery extends DueRow {
  organizationId: string;
  eventType: string;
  /** The request body, byte for byte; null if it is large: then it is read when the delivery's turn comes. */
  body: Body | null;
  /** The body's length in UTF-8. */
  bodyBytes: number;
  /** The event whose body it is; null for a manual delivery, which has its own. */
  eventKey: string | null;
  /** The trace context of the event, or of the request for a manual delivery; null if there is none. */
  traceparent: string | null;
  createdAt: Date;
  /** Set if a message brought it. */
  handedOver?: boolean;
  /** Set if its event is perhaps not stored yet. */
  arrived?: Arrived | undefined;
}

/** Conditions of a delivery that was handed over when its event arrived. */
export interface Arrived {
  /** The revision of the endpoint's configuration, in decimal digits. If the endpoint has another revision now, it may have unsubscribed from the event. */
  revision: string;
}

/** A large body as its bytes, as it is sent. */
export type Body = string | Buffer;

/** Bodies up to this length are read with their rows: most are, and another statement would cost more than their memory. */
export const SMALL_BODY_BYTES = 8 * 1024;

type Row = Omit<Delivery, keyof DueRow> & { position: number; isPending: boolean };

/**
 * Reads the data that the attempts of due rows need, in the order of the rows. It is apart from the statement that reads the due rows, since the ids
 * are known now: with the smallest and largest id as parameters, a cached plan leaves out the partitions of all other days. Else it would open every
 * partition, which costs more than the rest. `offset 0` makes PostgreSQL look up each row by itself. PostgreSQL knows the length of a body
 * without reading it.
 *
 * Deletes rows of `due` whose delivery has ended or was erased. Such a row is left if a success of an earlier owner was settled after the row had
 * been moved to another time.
 *
 * Locks only the rows of `due` that it deletes. Walks delivery_pkey, business_event_pkey and due_pkey.
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

/** The place of a body: with its event, or in a manual delivery's own row. */
export interface BodySource {
  organizationId: string;
  eventKey: string | null;
  deliveryId: string;
}

/**
 * Reads bodies, in the order of their sources; undefined for a body that is gone.
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
      ${sources.map((source) => source.eventKey ?? source.deliveryId)}::uuid[],
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
      where source.event_key = source.delivery_id and id = source.delivery_id and id between ${first}::uuid and ${last}::uuid
      offset 0
    ) as delivery on true`;
  const bodies = new Map(rows.map(({ position, body }) => [position, body]));
  return sources.map((_, index) => {
    const body = bodies.get(index + 1) ?? null;
    return body === null ? undefined : Buffer.from(body);
  });
}
