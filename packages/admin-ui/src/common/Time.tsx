import { useSyncExternalStore } from "react";
import { serverNow } from "../api/connection.ts";
import { ago, exact, formats } from "./formats.ts";
import shared from "./shared.module.css";

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for every time on the page; none while the page is hidden or shows no time. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  if (document.hidden) return;
  for (const listener of listeners) listener();
}

/** A value that depends on the server's time, read every second; the component renders again only when it changes. */
export function useTicking<T extends string | number | boolean>(read: (nowMs: number) => T): T {
  return useSyncExternalStore(subscribe, () => read(serverNow()));
}

export function Time({ iso }: { iso: string }) {
  const words = useTicking((now) => ago(Date.parse(iso), now));
  return (
    <time className={shared.numbers} dateTime={iso} data-hint={`${formats.dateTime(iso)} · ${exact(iso)}`}>
      {words}
    </time>
  );
}

/** A moment in the browser's language and zone, with milliseconds if they help to find an attempt in a log. The exact value is a hint. */
export function Moment({ iso, milliseconds = false }: { iso: string; milliseconds?: boolean }) {
  return (
    <time className={shared.numbers} dateTime={iso} data-hint={exact(iso)}>
      {formats.dateTime(iso, { milliseconds })}
    </time>
  );
}
