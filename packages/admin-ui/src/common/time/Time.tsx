import css from "./Time.module.css";
import { useTicking } from "./ticker.ts";
import { ago, countdown, utc } from "./words.ts";

/** A past time as its age; the UTC time is a hint, and in the text for who listens. */
export function Time({ iso }: { iso: string }) {
  const words = useTicking((now) => ago(Date.parse(iso), now));
  return (
    <time className={css.time} dateTime={iso} data-hint={utc(iso)}>
      {words}
    </time>
  );
}

/** A time ahead, counting down. Once it has passed it says "due now": delays mark eligibility, not a schedule (SPEC 8). */
export function Countdown({ iso }: { iso: string }) {
  const words = useTicking((now) => countdown(Date.parse(iso), now));
  return (
    <time className={css.time} dateTime={iso} data-hint={utc(iso)}>
      {words}
    </time>
  );
}
