import css from "./ShortId.module.css";
import { shortId } from "./short-id.ts";

/** An id in a row of a list: enough of it to tell it from others. */
export function ShortId({ id }: { id: string }) {
  const { head, tail } = shortId(id);
  return (
    <code className={css.id}>
      <span className={css.head}>{head}</span>…{tail}
    </code>
  );
}
