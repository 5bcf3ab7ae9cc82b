import type { DeliveryListItem } from "@herald/contracts";
import css from "./display.module.css";

/** What people know an id by: `head`, by which a search finds it, and `tail`, since ids that begin with their time begin alike. */
export function shortId(id: string): { head: string; tail: string } {
  return { head: id.slice(0, 8), tail: id.slice(-4) };
}

export function shortIdWords(id: string): string {
  const { head, tail } = shortId(id);
  return `${head}…${tail}`;
}

/** What a delivery is of, in words. */
export function deliveryWords({ id, eventType, businessEventId, entityId }: DeliveryListItem): string {
  if (businessEventId === undefined) return `${eventType}, manual delivery ${shortIdWords(id)}`;
  const entity = entityId === null ? "" : `, entity ${shortIdWords(entityId)}`;
  return `${eventType}${entity}, event ${shortIdWords(businessEventId)}`;
}

/** An id in a row of a list: enough of it to tell it from others. */
export function ShortId({ id }: { id: string }) {
  const { head, tail } = shortId(id);
  return (
    <code className={css.id}>
      <span className={css.head}>{head}</span>…{tail}
    </code>
  );
}
