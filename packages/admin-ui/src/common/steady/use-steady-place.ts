import { type RefObject, useLayoutEffect } from "react";

/**
 * Keeps an element at its place in the window while `held`, whatever appears or goes above it: a row that one is about to click
 * must not give way to a notice. What appears is scrolled past; for what goes where there is nothing to scroll back, a gap stays.
 * Both are put right when it is let go.
 */
export function useSteadyPlace(element: RefObject<HTMLElement | null>, held: boolean): void {
  useLayoutEffect(() => {
    const place = element.current;
    const page = document.getElementById("root");
    if (!held || !place || !page) return;
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
    // Called at once when the page changes: by the next frame the browser would find the pointer over something else. And,
    // before it is drawn, of what changes its size by itself.
    const changed = new MutationObserver(keep);
    changed.observe(page, { childList: true, characterData: true, subtree: true });
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
  }, [element, held]);
}
