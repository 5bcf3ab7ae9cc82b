import { type FocusEvent, type RefObject, useLayoutEffect, useState } from "react";

interface Row {
  id: string;
}

interface SteadyRows<T> {
  rows: readonly T[];
  waiting: number;
}

/**
 * The rows that a list shows next, when `fresh` arrives while it shows `shown`. If it is steady no row moves: shown rows stay where they
 * are, with their newest content, even if they no longer belong there. New rows after the last one are added; others wait.
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

/** Rows that don't move while `steady`. @param list names what is listed; another list is shown at once, steady or not. */
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

export type HoverOrFocus = ReturnType<typeof useHoverOrFocus>;

export function useHoverOrFocus() {
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  return {
    /** The pointer or the keyboard's focus is in the element. */
    isActive: pointed || focused,
    /** For the pointer: the element and the button of its waiting rows, which must not go while the pointer moves to it. */
    pointer: { onPointerEnter: () => setPointed(true), onPointerLeave: () => setPointed(false) },
    focus: {
      onFocus: () => setFocused(true),
      onBlur: (event: FocusEvent<HTMLElement>) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setFocused(false);
      },
    },
  };
}

/**
 * Keeps an element at its place in the window while `steady`, when something appears or goes above it: a row under the pointer must
 * not move. An appearing element is scrolled past. If one goes and there is nothing to scroll back, a gap stays. Both end when it
 * need not be steady any longer.
 */
export function useSteadyPlace(element: RefObject<HTMLElement | null>, steady: boolean): void {
  useLayoutEffect(() => {
    const place = element.current;
    const page = document.getElementById("root");
    if (!steady || !place || !page) return;
    const { documentElement: root, body } = document;
    const stop = new AbortController();
    const top = (): number => place.getBoundingClientRect().top;
    let wanted = top();
    let gapPx = 0;
    const gap = (px: number): void => {
      gapPx = px;
      place.style.marginBlockStart = `${px}px`;
    };
    const keep = (): void => {
      const moved = top() - wanted;
      // A window scrolls by whole pixels.
      if (Math.abs(moved) < 1) return;
      if (moved > 0) {
        const taken = Math.min(gapPx, moved);
        body.style.minHeight = `${Math.max(root.scrollHeight, scrollY + moved + innerHeight)}px`;
        gap(gapPx - taken);
        scrollBy({ top: moved - taken, behavior: "instant" });
      } else {
        const scrolled = Math.min(scrollY, -moved);
        gap(gapPx - moved - scrolled);
        scrollBy({ top: -scrolled, behavior: "instant" });
      }
    };
    const measure = (): void => {
      wanted = top();
    };
    // Called at once when the page changes: in the next frame the pointer would be over something else.
    const changed = new MutationObserver(keep);
    changed.observe(page, { childList: true, characterData: true, subtree: true });
    // Called before drawing, for elements that change their size by themselves.
    const resized = new ResizeObserver(keep);
    resized.observe(page);
    // Focus scrolls its element into view. The page may change before it is told of the scroll.
    for (const type of ["scroll", "focusin"]) addEventListener(type, measure, { capture: true, signal: stop.signal });
    return () => {
      changed.disconnect();
      resized.disconnect();
      stop.abort();
      body.style.minHeight = "";
      place.style.marginBlockStart = "";
    };
  }, [element, steady]);
}
