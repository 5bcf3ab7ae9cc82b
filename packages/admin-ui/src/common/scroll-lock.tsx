import { Slot } from "radix-ui";
import { type ReactNode, useLayoutEffect } from "react";

let locks = 0;

interface Props {
  as?: unknown;
  allowPinchZoom?: boolean;
  shards?: unknown;
  children: ReactNode;
}

/**
 * Replaces the package of this name below Radix's dialogs (see vite.config.ts). That package adds `<style>` elements,
 * which the page's CSP forbids; this one sets an attribute that global.css knows.
 */
export function RemoveScroll({ as: _as, allowPinchZoom: _allowPinchZoom, shards: _shards, ...rest }: Props) {
  useLayoutEffect(() => {
    const { documentElement: page } = document;
    // The room of the scroll bar stays, so that nothing shifts sideways.
    if (locks === 0) page.style.setProperty("--scrollbar", `${window.innerWidth - page.clientWidth}px`);
    locks += 1;
    page.toggleAttribute("data-scroll-locked", true);
    return () => {
      locks -= 1;
      page.toggleAttribute("data-scroll-locked", locks > 0);
    };
  }, []);
  return <Slot.Root {...rest} />;
}
