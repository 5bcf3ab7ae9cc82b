import { useEffect, useState } from "react";
import css from "./feedback.module.css";

const SHOW_AFTER_MS = 120;

/** The shape of rows to come. Quick answers never show it. */
export function Skeleton({ rows, what }: { rows: number; what: string }) {
  const [visible, setVisible] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setVisible(true), SHOW_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className={css.skeleton} role="status" data-visible={visible || undefined}>
      <span className={css.words}>Loading {what}…</span>
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} className={css.row} />
      ))}
    </div>
  );
}
