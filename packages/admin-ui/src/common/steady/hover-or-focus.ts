import { type FocusEvent, type RefObject, useLayoutEffect, useState } from "react";

interface HoverOrFocus {
  /** The pointer or the keyboard's focus is in the element. */
  isActive: boolean;
  /** For the pointer: the element and the button of its waiting rows, which must not go while one moves to it. */
  pointer: { onPointerEnter: () => void; onPointerLeave: () => void };
  /** For the keyboard's focus. */
  focus: { onFocus: () => void; onBlur: (event: FocusEvent<HTMLElement>) => void };
}

export function useHoverOrFocus(): HoverOrFocus {
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  return {
    isActive: pointed || focused,
    pointer: { onPointerEnter: () => setPointed(true), onPointerLeave: () => setPointed(false) },
    focus: {
      onFocus: () => setFocused(true),
      onBlur: (event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setFocused(false);
      },
    },
  };
}

/**
 * Keeps an element at its place in the window while `steady`, when something appears or goes above it: a row under the pointer must
 * not move. What appears is scrolled past; where something goes and there is nothing to scroll back, a gap stays. Both end when it
 * need not be steady any longer.
 */
export function useSteadyPlace(element: RefObject<HTMLElement | null>, steady: boolean): void {
  useLayoutEffect(() => {
    const place = element.current;
    const page = document.getElementById("root");
    if (!steady || !place || !page) return;
    const { documentElement: root, body } = document;
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
    const scrolled = (): void => {
      wanted = top();
    };
    // Called at once when the page changes: in the next frame the pointer would be over something else.
    const changed = new MutationObserver(keep);
    changed.observe(page, { childList: true, characterData: true, subtree: true });
    // Called before drawing, for elements that change their size by themselves.
    const resized = new ResizeObserver(keep);
    resized.observe(page);
    addEventListener("scroll", scrolled, { passive: true });
    return () => {
      changed.disconnect();
      resized.disconnect();
      removeEventListener("scroll", scrolled);
      body.style.minHeight = "";
      place.style.marginBlockStart = "";
    };
  }, [element, steady]);
}
