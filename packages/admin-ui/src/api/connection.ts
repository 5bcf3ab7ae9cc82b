import { useSyncExternalStore } from "react";

/** The state of the connection to the API, from the requests that the page makes anyway. */
export interface Connection {
  /** Since when nothing answers, in ms since the epoch; null while it does. */
  downSince: number | null;
  /** When the API last answered, in ms since the epoch. */
  lastAnswerAt: number | null;
  /** Lost after a 401; another one if it is of another organization than the page; hidden while a proxy answers in the API's place. */
  session: "alive" | "lost" | "another" | "hidden";
  signInUrl: string | null;
  /** How far the server's clock is ahead of this one, in ms. */
  clockSkewMs: number;
}

/** The Date header counts whole seconds; a smaller difference says nothing. */
const SKEW_THAT_COUNTS_MS = 2_000;

let current: Connection = {
  downSince: null,
  lastAnswerAt: null,
  session: "alive",
  signInUrl: null,
  clockSkewMs: 0,
};
const listeners = new Set<() => void>();

function change(next: Partial<Connection>): void {
  const merged = { ...current, ...next };
  const same = (Object.keys(merged) as (keyof Connection)[]).every((key) => merged[key] === current[key]);
  if (same) return;
  current = merged;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => current);
}

export function connectionNow(): Connection {
  return current;
}

/** The server's time in ms since the epoch: countdowns and ages are counted from its times. */
export function serverNow(): number {
  return Date.now() + current.clockSkewMs;
}

let quietUntilMs = 0;

/** The API has refused a read (429): the page asks for nothing by itself for this long. */
export function keepQuietFor(seconds: number): void {
  quietUntilMs = Date.now() + seconds * 1_000;
}

export function quietMs(): number {
  return Math.max(0, quietUntilMs - Date.now());
}

export function answered(serverDate: string | null): void {
  const skew = serverDate === null ? 0 : Date.parse(serverDate) + 500 - Date.now();
  change({
    downSince: null,
    lastAnswerAt: Date.now(),
    clockSkewMs: Math.abs(skew) >= SKEW_THAT_COUNTS_MS ? Math.round(skew / 1000) * 1000 : 0,
  });
}

export function didNotAnswer(): void {
  change({ downSince: current.downSince ?? Date.now() });
}

export function sessionIs(session: Connection["session"], signInUrl: string | null = null): void {
  change({
    session,
    signInUrl: session === "lost" ? (signInUrl ?? current.signInUrl) : null,
    ...(session === "hidden" && { downSince: null }),
  });
}
