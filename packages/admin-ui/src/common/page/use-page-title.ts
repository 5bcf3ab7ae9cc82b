import { useEffect } from "react";

const shown = new Map<symbol, { title: string; depth: number }>();

/**
 * Names the browser's tab, and with it the entry in its history.
 * @param depth what lies on top of the page has a greater one, and its title wins while it is open.
 */
export function usePageTitle(title: string, depth = 0): void {
  useEffect(() => {
    const key = Symbol();
    shown.set(key, { title, depth });
    writeTitle();
    return () => {
      shown.delete(key);
      writeTitle();
    };
  }, [title, depth]);
}

function writeTitle(): void {
  const top = [...shown.values()].reduce((one, other) => (other.depth >= one.depth ? other : one), {
    title: "Webhooks",
    depth: -1,
  });
  document.title = top.title === "Webhooks" ? "Webhooks · Integrations" : `${top.title} · Webhooks`;
}
