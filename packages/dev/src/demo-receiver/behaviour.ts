import type { ReceivedRequest } from "@herald/listen";

/** How the demo receiver treats a delivery. */
export interface Behaviour {
  /** `answer` answers; `hang` takes the request and never answers; `cut` drops the connection. */
  mode: "answer" | "hang" | "cut";
  /** The answer's status, where the signature verifies. */
  status: number;
  /** How long the sender waits for it. */
  delayMs: number;
  /** How many attempts of each delivery are answered with 503 before `status` has its turn. */
  failTimes: number;
}

export const politeBehaviour: Behaviour = { mode: "answer", status: 200, delayMs: 0, failTimes: 0 };

const modes: readonly string[] = ["answer", "hang", "cut"] satisfies Behaviour["mode"][];
const limits = { status: [200, 599], delayMs: [0, 120_000], failTimes: [0, 100] } as const;

/**
 * The behaviour that an endpoint's URL asks for: `/hooks?status=500&delayMs=2000`, `/hooks?failTimes=2`, `/hooks/hang`,
 * `/hooks/cut`. What it does not say is as `standing` has it.
 *
 * @throws RangeError with the field's name, where a value is not valid
 */
export function behaviourOf(url: URL, standing: Behaviour): Behaviour {
  const wanted: Record<string, unknown> = {};
  const last = url.pathname.split("/").at(-1) ?? "";
  if (last === "hang" || last === "cut") wanted.mode = last;
  for (const name of Object.keys(limits)) {
    const text = url.searchParams.get(name);
    if (text !== null) wanted[name] = text === "" ? Number.NaN : Number(text);
  }
  return withChanges(standing, wanted);
}

/**
 * `standing`, but for the known fields that `wanted` has.
 *
 * @throws RangeError with the field's name, where a value is not valid
 */
export function withChanges(standing: Behaviour, wanted: Record<string, unknown>): Behaviour {
  const behaviour = { ...standing };
  if (wanted.mode !== undefined) {
    if (typeof wanted.mode !== "string" || !modes.includes(wanted.mode)) {
      throw new RangeError(`mode must be one of ${modes.join(", ")}`);
    }
    behaviour.mode = wanted.mode as Behaviour["mode"];
  }
  for (const name of Object.keys(limits) as (keyof typeof limits)[]) {
    const value = wanted[name];
    const [min, max] = limits[name];
    if (value === undefined) continue;
    if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
      throw new RangeError(`${name} must be a whole number from ${min} to ${max}`);
    }
    behaviour[name] = value as number;
  }
  return behaviour;
}

/** The receiver's treatment of one request. */
export interface Plan {
  mode: Behaviour["mode"];
  /** Null where there will be no answer. */
  status: number | null;
  delayMs: number;
  /** The line that is printed for the request. */
  text: string;
  body: string;
}

/** Decides by what the URL asks for, then by the standing behaviour. An unverified request never succeeds. */
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
    const note = `set to fail ${failTimes} times, this is attempt ${attempt}`;
    if (attempt <= failTimes) return { mode, status: 503, delayMs, text: `503${after} (${note})`, body: note };
  }
  const { status } = behaviour;
  return { mode, status, delayMs, text: `${status}${after}`, body: status < 300 ? "" : `set to answer ${status}` };
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
