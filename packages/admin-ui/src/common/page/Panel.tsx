import type { ReactNode } from "react";
import { classNames } from "../class-names.ts";
import css from "./page.module.css";

interface Props {
  title?: string;
  aside?: ReactNode;
  /** Text and controls, not a table that reaches the edges. */
  padded?: boolean;
  /** As wide as a form or a text should be. */
  narrow?: boolean;
  children: ReactNode;
}

/** A sheet on the page. */
export function Panel({ title, aside, padded = false, narrow = false, children }: Props) {
  return (
    <section className={classNames(css.panel, narrow && css.narrow)} aria-label={title}>
      {title ? (
        <header className={css.header}>
          <h2>{title}</h2>
          {aside}
        </header>
      ) : null}
      <div className={classNames(padded && css.padded)}>{children}</div>
    </section>
  );
}

/** The panels of a page, one below the other. */
export function Stack({ children }: { children: ReactNode }) {
  return <div className={css.stack}>{children}</div>;
}
