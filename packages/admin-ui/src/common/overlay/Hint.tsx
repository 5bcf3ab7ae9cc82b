import { useEffect, useRef, useState } from "react";
import css from "./overlay.module.css";

const REST_MS = 200;
const GAP_PX = 6;

/**
 * The page's one tooltip. An element with `data-hint` shows it on hover and on keyboard focus. A focused control inside an element
 * with `data-hint-scope` shows the first hint in there. It only repeats what a screen reader can read elsewhere. Escape closes it; the
 * pointer may rest on it.
 */
export function Hint() {
  const [shown, setShown] = useState<{ text: string | null; anchor: Element } | null>(null);
  const bubble = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const stopped = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let anchor: Element | null = null;
    let pointed = (): Element[] => [];
    const show = (next: Element | null): void => {
      clearTimeout(timer);
      anchor = next;
      setShown(next && { anchor: next, text: next.getAttribute("data-hint") });
    };
    // A row's link covers the row and gets its events, so look at everything below the pointer. What is there when it has rested counts:
    // the page may move under it while parts of it load.
    const onMove = ({ clientX, clientY, pointerType }: PointerEvent): void => {
      if (pointerType === "touch") return;
      pointed = () => document.elementsFromPoint(clientX, clientY);
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (bubble.current && pointed().includes(bubble.current)) return;
        show(pointed().find((element) => element.hasAttribute("data-hint")) ?? null);
      }, REST_MS);
    };
    const focused = (): Element | null => {
      const element = document.querySelector(":focus-visible");
      const scope = element?.closest("[data-hint-scope]");
      return element?.closest("[data-hint]") ?? scope?.querySelector("[data-hint]") ?? null;
    };
    // No reason to close: focus scrolls its element into view, and a row keeps its place by a scroll when something appears above it.
    const onScroll = (): void => {
      if (!anchor || !bubble.current) return;
      if (focused() === anchor || pointed().includes(anchor)) place(bubble.current, anchor);
      else show(null);
    };
    const { signal } = stopped;
    document.addEventListener("pointermove", onMove, { passive: true, signal });
    document.addEventListener("focusin", () => show(focused()), { signal });
    document.addEventListener("keydown", ({ key }) => key === "Escape" && show(null), { signal });
    for (const type of ["focusout", "pointerdown"]) document.addEventListener(type, () => show(null), { signal });
    for (const type of ["scroll", "resize"]) addEventListener(type, onScroll, { capture: true, passive: true, signal });
    return () => {
      clearTimeout(timer);
      stopped.abort();
    };
  }, []);

  useEffect(() => {
    if (shown && bubble.current) place(bubble.current, shown.anchor);
  }, [shown]);

  return shown ? (
    <div ref={bubble} className={css.hint} popover="manual" aria-hidden="true">
      {shown.text}
    </div>
  ) : null;
}

/** Above the anchor, or below it if there is no room; always within the window. The top layer puts it above dialogs. */
function place(bubble: HTMLElement, anchor: Element): void {
  bubble.showPopover();
  const { top, bottom, left, width } = anchor.getBoundingClientRect();
  const size = bubble.getBoundingClientRect();
  const above = top - size.height - GAP_PX;
  bubble.style.top = `${above > 0 ? above : bottom + GAP_PX}px`;
  const centred = left + width / 2 - size.width / 2;
  bubble.style.left = `${Math.max(GAP_PX, Math.min(centred, window.innerWidth - size.width - GAP_PX))}px`;
}
