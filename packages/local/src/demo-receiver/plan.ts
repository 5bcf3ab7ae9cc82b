import type { ReceivedRequest } from "@herald/receiver/listen";
import { type Behaviour, behaviourOf } from "./behaviour.ts";

/** What the receiver will do with one request. */
export interface Plan {
  mode: Behaviour["mode"];
  /** Null where there will be no answer. */
  status: number | null;
  delayMs: number;
  /** For the person who watches. */
  text: string;
  /** For the sender. */
  body: string;
}

/** Decides by what the URL asks for, then by what stands for all, and never lets an unverified request succeed. */
export function planFor(
  url: URL,
  standing: Behaviour,
  { headers, verdict }: ReceivedRequest,
  attempts: AttemptCounter,
): Plan {
  let behaviour: Behaviour;
  try {
    behaviour = behaviourOf(url, standing);
  } catch (error) {
    const { message } = error as RangeError;
    return { mode: "answer", status: 400, delayMs: 0, text: `400 (${message})`, body: message };
  }
  const { mode, delayMs, failTimes } = behaviour;
  const after = delayMs > 0 ? ` after ${delayMs} ms` : "";
  if (mode === "hang") return { mode, status: null, delayMs, text: "no answer (hangs)", body: "" };
  if (mode === "cut") return { mode, status: null, delayMs, text: `connection cut${after}`, body: "" };
  if (!verdict.ok) {
    const status = verdict.reason === "body_too_large" ? 413 : 401;
    return { mode, status, delayMs, text: `${status}${after}`, body: `${verdict.reason}: ${verdict.message}` };
  }
  if (failTimes > 0) {
    const attempt = attempts.next(headers);
    const note = `told to fail ${failTimes} times, this is attempt ${attempt}`;
    if (attempt <= failTimes) return { mode, status: 503, delayMs, text: `503${after} (${note})`, body: note };
  }
  const { status } = behaviour;
  return { mode, status, delayMs, text: `${status}${after}`, body: status < 300 ? "" : `told to answer ${status}` };
}

export interface AttemptCounter {
  /** Which attempt of its delivery a request is, as far as this receiver saw, from 1. */
  next(headers: ReceivedRequest["headers"]): number;
}

/** Remembers the deliveries seen last. */
export function attemptCounter(capacity = 10_000): AttemptCounter {
  const seen = new Map<string, number>();
  return {
    next(headers) {
      const id = headers.find(([name]) => name.toLowerCase().endsWith("-delivery-id"))?.[1] ?? "";
      const attempt = (seen.get(id) ?? 0) + 1;
      seen.delete(id);
      seen.set(id, attempt);
      if (seen.size > capacity) seen.delete(seen.keys().next().value as string);
      return attempt;
    },
  };
}
