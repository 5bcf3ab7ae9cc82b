import { classNames } from "../class-names.ts";
import css from "./display.module.css";

interface Props {
  count: number;
  limit: number;
  /** What the last of those counted came to; the ones before it are failures in any case. */
  last?: "failed" | "succeeded";
  /** For who listens, and written out beside the pips where `caption` is set. */
  words: string;
  caption?: boolean;
}

/** A count of five as marks: a webhook's consecutive failures, or a delivery's attempts. */
export function Pips({ count, limit, last = "failed", words, caption = false }: Props) {
  const kindOf = (pip: number): string | undefined => {
    if (pip > count) return undefined;
    return pip < count || last === "failed" ? css.pipFailed : css.pipSucceeded;
  };
  return (
    <span className={css.line}>
      <span className={css.pips} aria-hidden="true">
        {Array.from({ length: limit }, (_, index) => (
          <i key={index} className={classNames(css.pip, kindOf(index + 1))} />
        ))}
      </span>
      <span className={caption ? css.caption : css.unseen}>{words}</span>
    </span>
  );
}
