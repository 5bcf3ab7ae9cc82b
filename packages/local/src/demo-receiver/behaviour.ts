/** How the demo receiver treats a delivery. */
export interface Behaviour {
  /** `answer` is the polite one; `hang` takes the request and never answers; `cut` drops the connection. */
  mode: "answer" | "hang" | "cut";
  /** The answer's status, where the signature verifies. */
  status: number;
  /** How long it lets the sender wait before that. */
  delayMs: number;
  /** How many attempts of each delivery are answered with 503 before `status` has its turn. */
  failTimes: number;
}

export const politeBehaviour: Behaviour = { mode: "answer", status: 200, delayMs: 0, failTimes: 0 };

const modes: readonly string[] = ["answer", "hang", "cut"] satisfies Behaviour["mode"][];
const limits = { status: [200, 599], delayMs: [0, 120_000], failTimes: [0, 100] } as const;

/**
 * What an endpoint's URL asks for: `/hooks?status=500&delayMs=2000`, `/hooks?failTimes=2`, `/hooks/hang`,
 * `/hooks/cut`. What it does not say is as `standing` has it.
 *
 * @throws RangeError where a value is none, saying which
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
 * @throws RangeError where a value is none, saying which
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
