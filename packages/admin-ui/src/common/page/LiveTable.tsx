import { type ReactNode, useRef } from "react";
import { classNames } from "../class-names.ts";
import shared from "../shared.module.css";
import { type HoverOrFocus, useSteadyPlace } from "../steady.ts";

interface Props {
  caption: string;
  /** "wide": only if there is room. */
  columns: readonly (readonly [name: string, width?: string, wide?: "wide"])[];
  className: string | undefined;
  /** Whether the pointer or the focus is in the table: then it keeps its place. */
  hover: HoverOrFocus;
  /** Between the table's place and its head. */
  above?: ReactNode;
  children: ReactNode;
}

/** A table whose rows come and go by themselves, and keep their place under the pointer and the focus. */
export function LiveTable({ caption, columns, className, hover, above, children }: Props) {
  const place = useRef<HTMLDivElement>(null);
  useSteadyPlace(place, hover.isActive);
  return (
    <div ref={place} {...hover.pointer}>
      {above}
      <table className={classNames(shared.table, className)}>
        <caption className={shared.unseen}>{caption}</caption>
        <thead>
          <tr>
            {columns.map(([name, width, wide]) => (
              <th key={name} scope="col" className={wide && shared.wide} style={{ width }}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody {...hover.focus}>{children}</tbody>
      </table>
    </div>
  );
}
