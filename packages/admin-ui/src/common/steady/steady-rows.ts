import { useState } from "react";

interface Row {
  id: string;
}

interface SteadyRows<T> {
  rows: readonly T[];
  /** New rows that are not shown yet. */
  waiting: number;
}

/**
 * What a list shows next, when `fresh` arrives while it shows `shown`. While it is to be steady no row moves: shown rows stay where they
 * are, with their newest content, also where they no longer belong. New rows after the last one are added; others wait.
 */
export function nextRows<T extends Row>(shown: readonly T[], fresh: readonly T[], steady: boolean): SteadyRows<T> {
  if (!steady || shown.length === 0) return { rows: fresh, waiting: 0 };
  const freshById = new Map(fresh.map((row) => [row.id, row]));
  const shownIds = new Set(shown.map((row) => row.id));
  const lastShown = fresh.findLastIndex((row) => shownIds.has(row.id));
  const unseen = fresh.filter((row) => !shownIds.has(row.id));
  const after = lastShown < 0 ? [] : fresh.slice(lastShown + 1);
  return {
    rows: [...shown.map((row) => freshById.get(row.id) ?? row), ...after],
    waiting: unseen.length - after.length,
  };
}

/**
 * Rows that don't move while `steady`.
 * @param list names what is listed; another list is shown at once, steady or not.
 */
export function useSteadyRows<T extends Row>(
  fresh: readonly T[],
  steady: boolean,
  list: string,
): SteadyRows<T> & { release: () => void } {
  const [state, setState] = useState({ list, rows: fresh });
  const next = nextRows(state.rows, fresh, steady && state.list === list);
  if (state.list !== list || !sameRows(state.rows, next.rows)) setState({ list, rows: next.rows });
  return { ...next, release: () => setState({ list, rows: fresh }) };
}

function sameRows(some: readonly Row[], others: readonly Row[]): boolean {
  return some.length === others.length && some.every((row, index) => row === others[index]);
}
