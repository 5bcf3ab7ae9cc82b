import { byDay, type OfDay } from "@herald/common/database/days";
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
  body: string | null;
  bodyBytes: number;
  /** The event whose body it is; null for a manual delivery, which has its own. */
  eventKey: string | null;
  /** The trace context of the event, or of the request for a manual delivery; null if there is none. */
  traceparent: string | null;
  createdAt: Date;
  /** How many of its attempts were put back since this process stood still during them. */
  standstills?: number;
  /** Set if a message brought it. */
  handedOver?: boolean;
  /** Set if its event is perhaps not stored yet. */
  arrived?: Arrived | undefined;
}

/** The endpoint's revision when the event arrived, in decimal digits. If it has another one now, it may have unsubscribed from the event. */
export type Arrived = { revision: string };

/** Bodies up to this length are read with their rows: most are, and another statement would cost more than their memory. */
export const SMALL_BODY_BYTES = 8 * 1024;

type Row = Omit<Delivery, keyof DueRow> & { position: number; isPending: boolean };

/**
 * Reads the data that the attempts of due rows need, in the order of the rows. This is not a part of the statement that reads the rows: now the ids are
 * known, and there is a statement for each of their days (days.ts). `offset 0` makes PostgreSQL look up each row by itself. It knows the length of a
 * body without reading it.
 *
 * Deletes rows of `due` whose delivery has ended or was erased. Such a row is left if a success of an earlier owner was settled after the row had
 * been moved. Locks only the rows of `due` that it deletes. Walks delivery_pkey, business_event_pkey and due_pkey.
 */
export async function describeDeliveries(
  queries: Queries,
  due: readonly DueRow[],
  maxBodyBytes = SMALL_BODY_BYTES,
): Promise<Delivery[]> {
  const described = new Map<DueRow, Delivery>();
  for (const ofDay of byDay(due, ({ deliveryId }) => deliveryId))
    await describeDay(queries, ofDay, maxBodyBytes, described);
  return due.flatMap((row) => described.get(row) ?? []);
}

async function describeDay(
  queries: Queries,
  { items: due, isOn }: OfDay<DueRow>,
  maxBodyBytes: number,
  described: Map<DueRow, Delivery>,
): Promise<void> {
  const ids = due.map(({ deliveryId }) => deliveryId);
  const rows = await queries.$queryRaw<Row[]>`
    select
      due.position::int as "position",
      coalesce(delivery.state = 'pending', false) as "isPending",
      delivery.organization_id as "organizationId",
      delivery.event_type as "eventType",
      case when octet_length(content.body) <= ${maxBodyBytes} then content.body end as "body",
      coalesce(octet_length(content.body), 0) as "bodyBytes",
      delivery.event_key as "eventKey",
      event.traceparent as "traceparent",
      delivery.created_at as "createdAt"
    from unnest(${ids}::uuid[]) with ordinality as due (delivery_id, position)
    left join lateral (select * from delivery where id = due.delivery_id and ${isOn("id")} offset 0) as delivery on true
    left join lateral (
      select body, traceparent from business_event
      where organization_id = delivery.organization_id and key = delivery.event_key
        and ${isOn("key")}
      offset 0
    ) as event on true
    cross join lateral (select coalesce(delivery.body, event.body) as body) as content
    order by due.position`;
  const ended: DueRow[] = [];
  for (const { position, isPending, ...row } of rows) {
    const ofRow = due[position - 1] as DueRow;
    if (isPending) described.set(ofRow, { ...ofRow, ...row });
    else ended.push(ofRow);
  }
  if (ended.length > 0) await forget(queries, ended);
}

/** Locks these rows of `due`, and skips those that others lock: they are read again. Walks due_pkey. */
async function forget(queries: Queries, due: readonly DueRow[]): Promise<void> {
  await queries.$executeRaw`
    with free as materialized (
      select due.ctid from due
      join unnest(
        ${due.map((row) => row.endpointId)}::uuid[],
        ${due.map((row) => row.dueAt)}::timestamptz[],
        ${due.map((row) => row.deliveryId)}::uuid[]
      ) as ended (endpoint_id, due_at, delivery_id)
        on due.shard = shard_of(ended.endpoint_id) and due.endpoint_id = ended.endpoint_id
        and due.due_at = ended.due_at and due.delivery_id = ended.delivery_id
      for update of due skip locked
    )
    delete from due using free where due.ctid = free.ctid`;
}

/** Bodies have less than a megabyte. */
const ANY_SIZE = 2 ** 31 - 1;

/** Reads the bodies of deliveries as bytes, in their order; undefined for a delivery that has ended, or whose body is gone. */
export async function readBodies(queries: Queries, due: readonly DueRow[]): Promise<(Buffer | undefined)[]> {
  const deliveries = await describeDeliveries(queries, due, ANY_SIZE);
  const bodies = new Map(deliveries.map(({ deliveryId, body }) => [deliveryId, body]));
  return due.map(({ deliveryId }) => {
    const body = bodies.get(deliveryId) ?? null;
    return body === null ? undefined : Buffer.from(body);
  });
}
