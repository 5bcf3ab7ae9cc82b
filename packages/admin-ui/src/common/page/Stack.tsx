import type { ReactNode } from "react";
import css from "./Stack.module.css";

/** The panels of a page, one below the other. */
export function Stack({ children }: { children: ReactNode }) {
  return <div className={css.stack}>{children}</div>;
}
