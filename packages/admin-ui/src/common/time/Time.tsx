import { formats } from "../formats.ts";
import css from "./Time.module.css";
import { useTicking } from "./ticker.ts";
import { ago, countdown, exact } from "./words.ts";

/** A past time as its age; the moment itself is a hint. */
export function Time({ iso }: { iso: string }) {
  const words = useTicking((now) => ago(Date.parse(iso), now));
  return (
    <time className={css.time} dateTime={iso} data-hint={`${formats.dateTime(iso)} · ${exact(iso)}`}>
      {words}
    </time>
  );
}

/** A time ahead, counting down. Once it has passed it says "due now": delays mark eligibility, not a schedule (SPEC 8). */
export function Countdown({ iso }: { iso: string }) {
  const words = useTicking((now) => countdown(Date.parse(iso), now));
  return (
    <time className={css.time} dateTime={iso} data-hint={`${formats.dateTime(iso)} · ${exact(iso)}`}>
      {words}
    </time>
  );
}

/** A moment in the browser's language and zone, with milliseconds where they help to find an attempt in a log. The exact value is a hint. */
export function Moment({ iso, milliseconds = false }: { iso: string; milliseconds?: boolean }) {
  return (
    <time className={css.time} dateTime={iso} data-hint={exact(iso)}>
      {formats.dateTime(iso, { milliseconds })}
    </time>
  );
}
