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
  const [shown, setShown] = useState<{ text: string; anchor: Element } | null>(null);
  const bubble = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const stopped = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (anchor: Element | null): void => {
      clearTimeout(timer);
      const text = anchor?.isConnected ? anchor.getAttribute("data-hint") : null;
      setShown((before) => {
        if (!anchor || !text) return null;
        return before?.anchor === anchor && before.text === text ? before : { anchor, text };
      });
    };
    // A row's link covers the row and gets its events, so look at everything below the pointer. What is there when it has rested counts:
    // the page may move under it while parts of it load.
    const onMove = ({ clientX, clientY, pointerType }: PointerEvent): void => {
      if (pointerType === "touch") return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        const below = document.elementsFromPoint(clientX, clientY);
        if (bubble.current && below.includes(bubble.current)) return;
        show(below.find((element) => element.hasAttribute("data-hint")) ?? null);
      }, REST_MS);
    };
    const onFocus = ({ target }: FocusEvent): void => {
      if (!(target instanceof Element) || !target.matches(":focus-visible")) return;
      const scope = target.closest("[data-hint-scope]");
      show(target.closest("[data-hint]") ?? scope?.querySelector("[data-hint]") ?? null);
    };
    const close = (): void => show(null);
    const { signal } = stopped;
    document.addEventListener("pointermove", onMove, { passive: true, signal });
    document.addEventListener("focusin", onFocus, { signal });
    document.addEventListener("keydown", ({ key }) => key === "Escape" && close(), { signal });
    for (const type of ["focusout", "pointerdown"]) document.addEventListener(type, close, { signal });
    document.addEventListener("scroll", close, { capture: true, passive: true, signal });
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
