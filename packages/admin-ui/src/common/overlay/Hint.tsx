import { useEffect, useRef, useState } from "react";
import css from "./overlay.module.css";

interface Shown {
  text: string;
  anchor: Element;
}

/** The pointer must rest that long. */
const REST_MS = 200;
const GAP_PX = 6;

/**
 * The page's one tooltip. An element with `data-hint` shows it on hover and on keyboard focus; so does a focused control inside an
 * element with `data-hint-scope`, for the first hint in there. There is one for all, since a list holds a thousand times of day.
 * It only repeats what a screen reader can read elsewhere. Escape closes it; the pointer may rest on it.
 */
export function Hint() {
  const [shown, setShown] = useState<Shown | null>(null);
  const bubble = useRef<HTMLDivElement>(null);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (anchor: Element | null, delayMs: number): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const text = anchor?.isConnected ? anchor.getAttribute("data-hint") : null;
        setShown((before) => {
          if (!anchor || !text) return null;
          return before?.anchor === anchor && before.text === text ? before : { anchor, text };
        });
      }, delayMs);
    };
    // A row's link covers the row, so what lies below the pointer counts, not what gets its events.
    const onMove = ({ clientX, clientY, pointerType }: PointerEvent): void => {
      if (pointerType === "touch") return;
      const below = document.elementsFromPoint(clientX, clientY);
      if (bubble.current && below.includes(bubble.current)) clearTimeout(timer);
      else show(below.find((element) => element.hasAttribute("data-hint")) ?? null, REST_MS);
    };
    const onFocus = (event: FocusEvent): void => {
      const target = event.target as Element;
      if (!target.matches(":focus-visible")) return;
      show(target.closest("[data-hint]") ?? hintInScope(target), 0);
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape") show(null, 0);
    };
    const close = (): void => show(null, 0);
    document.addEventListener("pointermove", onMove, { passive: true });
    document.addEventListener("focusin", onFocus);
    document.addEventListener("focusout", close);
    document.addEventListener("keydown", onKey);
    document.addEventListener("pointerdown", close);
    document.addEventListener("scroll", close, { capture: true, passive: true });
    return () => {
      clearTimeout(timer);
      document.removeEventListener("pointermove", onMove);
      document.removeEventListener("focusin", onFocus);
      document.removeEventListener("focusout", close);
      document.removeEventListener("keydown", onKey);
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("scroll", close, { capture: true });
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

function hintInScope(target: Element): Element | null {
  return target.closest("[data-hint-scope]")?.querySelector("[data-hint]") ?? null;
}

/** Above the anchor, or below it where there is no room; always within the window. The top layer puts it above dialogs. */
function place(bubble: HTMLElement, anchor: Element): void {
  bubble.showPopover();
  const { top, bottom, left, width } = anchor.getBoundingClientRect();
  const size = bubble.getBoundingClientRect();
  const above = top - size.height - GAP_PX;
  bubble.style.top = `${above > 0 ? above : bottom + GAP_PX}px`;
  const centred = left + width / 2 - size.width / 2;
  bubble.style.left = `${Math.max(GAP_PX, Math.min(centred, window.innerWidth - size.width - GAP_PX))}px`;
}
