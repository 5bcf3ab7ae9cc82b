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
    // The browser's own way of doing this leaves out a window that has not been scrolled.
    root.style.overflowAnchor = "none";
    let gapPx = 0;
    let top = topOf(place);
    const keep = (): void => {
      const moved = topOf(place) - top;
      if (moved === 0) return;
      if (moved > 0) {
        const taken = Math.min(gapPx, moved);
        gapPx -= taken;
        place.style.marginBlockStart = `${gapPx}px`;
        const further = moved - taken;
        body.style.minHeight = `${Math.max(root.scrollHeight, scrollY + further + innerHeight)}px`;
        scrollBy({ top: further, behavior: "instant" });
      } else {
        const scrolled = Math.min(scrollY, -moved);
        gapPx += -moved - scrolled;
        place.style.marginBlockStart = `${gapPx}px`;
        scrollBy({ top: -scrolled, behavior: "instant" });
      }
      top = topOf(place);
    };
    // Told after layout and before anything is drawn.
    const observer = new ResizeObserver(keep);
    observer.observe(page);
    return () => {
      observer.disconnect();
      root.style.overflowAnchor = "";
      body.style.minHeight = "";
      place.style.marginBlockStart = "";
    };
  }, [element, held]);
}

/** From the top of the document, in px: scrolling does not change it. */
function topOf(element: HTMLElement): number {
  return element.getBoundingClientRect().top + scrollY;
}
